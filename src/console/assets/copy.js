// @ts-check
// Without this script, code is selected by hand: the buttons stay hidden.

const SHOWN_MS = 1500;

if (navigator.clipboard !== undefined) {
  for (const button of document.querySelectorAll("button.copy")) {
    if (button instanceof HTMLButtonElement) prepare(button);
  }
}

/** @param {HTMLButtonElement} button - stands beside the code that it copies */
function prepare(button) {
  const code = button.parentElement?.querySelector("code");
  if (code === null || code === undefined) return;
  button.hidden = false;
  button.addEventListener("click", () => void copy(code.textContent ?? "", button));
}

/**
 * @param {string} text
 * @param {HTMLButtonElement} button
 */
async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not copied";
  }
  setTimeout(() => (button.textContent = "Copy"), SHOWN_MS);
}
