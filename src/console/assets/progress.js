// @ts-check
// Without this script, the browser loads the page of a job again every 5 s.

const ASK_EVERY_MS = 2000;
const LONGEST_ANSWER_MS = 20_000;
const watched = document.querySelector("[data-progress=running]");
if (watched instanceof HTMLElement) askLater(watched);

/** @param {HTMLElement} section */
function askLater(section) {
  setTimeout(() => (document.hidden ? askLater(section) : ask(section)), ASK_EVERY_MS);
}

/**
 * Asks for this page again. A document that XMLHttpRequest makes runs no script and needs no text turned into markup.
 *
 * @param {HTMLElement} section
 */
function ask(section) {
  const request = new XMLHttpRequest();
  request.open("GET", location.href);
  request.responseType = "document";
  request.timeout = LONGEST_ANSWER_MS;
  request.addEventListener("loadend", () => showAnswer(section, request));
  request.send();
}

/**
 * @param {HTMLElement} section
 * @param {XMLHttpRequest} request
 */
function showAnswer(section, request) {
  // No answer, or too many requests: the job goes on all the same.
  if (request.status === 0 || request.status === 429 || request.status >= 500) {
    askLater(section);
    return;
  }
  const asked = request.responseXML?.querySelector("[data-progress]");
  if (!(asked instanceof HTMLElement)) {
    location.reload();
    return;
  }
  for (const part of section.querySelectorAll("[data-live]")) {
    if (part instanceof HTMLElement)
      showPart(part, asked.querySelector(`[data-live=${part.dataset["live"]}]`));
  }
  const { progress: state, next } = asked.dataset;
  if (state === "running") askLater(section);
  else if (next === undefined) location.reload();
  else location.replace(next);
}

/**
 * Only what differs is replaced, so that a screen reader hears a stage once.
 *
 * @param {HTMLElement} part
 * @param {Element | null} asked
 */
function showPart(part, asked) {
  if (asked === null || part.isEqualNode(asked)) return;
  part.replaceChildren(...[...asked.childNodes].map((node) => document.importNode(node, true)));
}
