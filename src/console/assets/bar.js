// @ts-check
// Without this script, menus of the bar close by their own button, links are copied by the browser's own menu, code by hand.

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

// Escape hides the card of a cell until the pointer or the focus goes on.
for (const type of ["keydown", "pointerover"])
  document.addEventListener(type, (event) =>
    document.body.classList.toggle("calm", event instanceof KeyboardEvent && event.key === "Escape"),
  );

if (navigator.clipboard !== undefined) {
  for (const copier of document.querySelectorAll("a.copy-link, button.copy")) {
    if (copier instanceof HTMLElement) prepare(copier, copier.textContent);
  }
}

/**
 * @param {HTMLElement} copier - a link, or a button beside the code that it copies
 * @param {string} name
 */
function prepare(copier, name) {
  copier.hidden = false;
  copier.addEventListener("click", (event) => {
    event.preventDefault();
    const code = copier.parentElement?.querySelector("code")?.textContent ?? "";
    /** @param {string} text */
    const tell = (text) => {
      copier.textContent = text;
      setTimeout(() => (copier.textContent = name), COPIED_MS);
    };
    navigator.clipboard.writeText(copier instanceof HTMLAnchorElement ? copier.href : code).then(
      () => tell("Copied"),
      () => tell("Not copied"),
    );
  });
}
