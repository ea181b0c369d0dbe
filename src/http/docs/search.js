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
  const words = wordsOf(field.value);
  index ??= load();
  const entries = await index;
  // While the index was on its way somebody may have typed on.
  if (field.value.trim() === "" || wordsOf(field.value).join(" ") !== words.join(" ")) {
    if (field.value.trim() === "") list.hidden = true;
    return;
  }
  const found = entries
    .map((entry) => ({ entry, score: scoreOf(entry, words) }))
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score)
    .slice(0, MOST_RESULTS);
  list.replaceChildren(
    ...(found.length === 0 ? [nothing()] : found.map(({ entry }) => result(entry, words))),
  );
  list.hidden = false;
}

function wordsOf(text) {
  return text
    .toLowerCase()
    .split(/\s+/u)
    .filter((word) => word !== "");
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
  const link = document.createElement("a");
  link.href = href;
  const heading = document.createElement("strong");
  heading.textContent = section === "" ? title : `${title}: ${section}`;
  const snippet = document.createElement("span");
  snippet.textContent = snippetOf(text, words);
  link.append(heading, snippet);
  const item = document.createElement("li");
  item.append(link);
  return item;
}

function snippetOf(text, words) {
  const at = Math.max(0, ...words.map((word) => text.toLowerCase().indexOf(word)));
  const start = at <= BEFORE_CHARACTERS ? 0 : text.indexOf(" ", at - BEFORE_CHARACTERS) + 1;
  const snippet = text.slice(start, start + SNIPPET_CHARACTERS);
  const end = start + SNIPPET_CHARACTERS < text.length ? "…" : "";
  return `${start === 0 ? "" : "…"}${snippet}${end}`;
}

function nothing() {
  const item = document.createElement("li");
  item.className = "nothing";
  item.textContent = "Nothing found.";
  return item;
}
