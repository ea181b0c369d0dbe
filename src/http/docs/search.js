// The search field of the pages: looks through the sections of the guides, which it fetches once somebody wants to search.

const MOST_RESULTS = 8;
const BEFORE_CHARACTERS = 30;
const SNIPPET_CHARACTERS = 110;

const field = document.querySelector("#search");
const list = document.querySelector("#found");
let index;

field.addEventListener("focus", () => (index ??= load()));
field.addEventListener("input", () => void search());
field.addEventListener("keydown", (event) => {
  if (event.key === "Enter") list.querySelector("a")?.click();
  if (event.key === "Escape") close();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.closest("input, select, textarea") !== null) return;
  event.preventDefault();
  field.focus();
});
document.addEventListener("click", (event) => {
  if (event.target.closest("search") === null || event.target.closest("#found a") !== null) close();
});

async function load() {
  return (await fetch("/docs/assets/search.json")).json();
}

function close() {
  field.value = "";
  list.hidden = true;
}

async function search() {
  const asked = field.value;
  const entries = await (index ??= load());
  // While the index was on its way somebody may have typed on.
  if (asked !== field.value) return;
  const words = asked.toLowerCase().match(/\S+/gu) ?? [];
  list.hidden = words.length === 0;
  if (list.hidden) return;
  const found = entries
    .map((entry) => ({ entry, score: scoreOf(entry, words) }))
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score)
    .slice(0, MOST_RESULTS);
  const nothing = make("li", { className: "nothing", textContent: "Nothing found." });
  list.replaceChildren(...(found.length === 0 ? [nothing] : found.map(({ entry }) => result(entry, words))));
}

/** 0 = a word is missing. A word of a heading counts more than one below it. */
function scoreOf({ title, section, text }, words) {
  const places = [
    [section.toLowerCase(), 6],
    [title.toLowerCase(), 4],
    [text.toLowerCase(), 1],
  ];
  let score = 0;
  for (const word of words) {
    const best = Math.max(...places.map(([place, weight]) => (place.includes(word) ? weight : 0)));
    if (best === 0) return 0;
    score += best;
  }
  return score;
}

function result({ href, title, section, text }, words) {
  const heading = make("strong", { textContent: section === "" ? title : `${title}: ${section}` });
  const snippet = make("span", { textContent: snippetOf(text, words) });
  return make("li", {}, make("a", { href }, heading, snippet));
}

function snippetOf(text, words) {
  const at = Math.max(0, ...words.map((word) => text.toLowerCase().indexOf(word)));
  const start = at <= BEFORE_CHARACTERS ? 0 : text.indexOf(" ", at - BEFORE_CHARACTERS) + 1;
  const snippet = text.slice(start, start + SNIPPET_CHARACTERS);
  const end = start + SNIPPET_CHARACTERS < text.length ? "…" : "";
  return `${start === 0 ? "" : "…"}${snippet}${end}`;
}

function make(name, properties, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}
