// @ts-check
// Without this script, menus of the bar close by their own button, and links are copied by the browser's own menu.

const COPIED_MS = 1500;
const menus = /** @type {HTMLDetailsElement[]} */ ([...document.querySelectorAll("details.menu")]);
const search = document.querySelector(".search input");

document.addEventListener("click", ({ target }) => {
  for (const menu of menus) if (target instanceof Node && !menu.contains(target)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (key === "Escape") {
    const open = menus.find((menu) => menu.open);
    if (open === undefined) return;
    open.open = false;
    open.querySelector("summary")?.focus();
  }
  const isTyping = target instanceof Element && target.closest("input, select, textarea") !== null;
  if (key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  if (!(search instanceof HTMLInputElement)) return;
  event.preventDefault();
  search.focus();
});

if (navigator.clipboard !== undefined) {
  for (const link of document.querySelectorAll("a.copy-link")) {
    if (!(link instanceof HTMLAnchorElement)) continue;
    link.addEventListener("click", (event) => {
      event.preventDefault();
      void copyAddress(link);
    });
  }
}

/** @param {HTMLAnchorElement} link */
async function copyAddress(link) {
  const text = link.textContent;
  try {
    await navigator.clipboard.writeText(link.href);
    link.textContent = "Copied";
  } catch {
    link.textContent = "Not copied";
  }
  setTimeout(() => (link.textContent = text), COPIED_MS);
}
