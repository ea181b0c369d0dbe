// @ts-check
// Without this script, the table under each chart has the same figures.

for (const figure of document.querySelectorAll("figure[data-readout]")) {
  if (figure instanceof HTMLElement) addReadout(figure);
}

/**
 * Adds a range input that moves over the rows of the chart's table, and tells the row. Hovering over the drawing or
 * touching it moves the same input.
 *
 * @param {HTMLElement} figure
 */
function addReadout(figure) {
  const drawing = figure.querySelector(".chart-plot > svg");
  const heads = [...figure.querySelectorAll("thead th")].map((head) => textOf(head));
  const rows = /** @type {HTMLElement[]} */ ([...figure.querySelectorAll("tr[data-x]")]);
  if (drawing === null || rows.length === 0) return;
  const places = rows.map((row) => Number.parseFloat(row.dataset["x"] ?? "0"));

  const input = document.createElement("input");
  Object.assign(input, { type: "range", id: `${figure.id}-readout`, min: "0", max: String(rows.length - 1) });
  const start = rows.findIndex((row) => row.dataset["start"] !== undefined);
  input.value = String(start < 0 ? rows.length - 1 : start);
  const label = document.createElement("label");
  label.htmlFor = input.id;
  label.textContent = figure.dataset["readout"] ?? "";
  const output = document.createElement("output");
  output.htmlFor.add(input.id);
  // Screen readers hear the text of the input.
  output.setAttribute("aria-live", "off");
  const guide = document.createElementNS("http://www.w3.org/2000/svg", "line");
  for (const [name, value] of [
    ["class", "guide"],
    ["y1", "0"],
    ["y2", "100%"],
  ])
    guide.setAttribute(name ?? "", value ?? "");
  drawing.append(guide);
  const readout = document.createElement("div");
  readout.className = "chart-readout";
  readout.append(label, input, output);
  drawing.parentElement?.after(readout);

  const tell = () => {
    const index = Number(input.value);
    const cells = [...(rows[index]?.children ?? [])]
      .map((cell, column) => [heads[column] ?? "", textOf(cell)])
      .filter(([, text]) => text);
    guide.setAttribute("x1", `${places[index]}%`);
    guide.setAttribute("x2", `${places[index]}%`);
    output.replaceChildren(...cells.map(([head, text]) => part(head, text)));
    input.setAttribute("aria-valuetext", cells.map((cell) => cell.join(": ")).join(", "));
  };
  /** @param {PointerEvent} event */
  const follow = (event) => {
    const box = drawing.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * 100;
    input.value = String(nearest(places, at));
    tell();
  };
  input.addEventListener("input", tell);
  const area = /** @type {HTMLElement} */ (drawing.parentElement);
  area.addEventListener("pointermove", follow);
  area.addEventListener("pointerdown", follow);
  tell();
}

/**
 * @param {string} head
 * @param {string} text
 */
function part(head, text) {
  const name = document.createElement("i");
  name.textContent = `${head} `;
  const whole = document.createElement("span");
  whole.append(name, text);
  return whole;
}

/** @param {Element} element */
function textOf(element) {
  return (element.textContent ?? "").replaceAll(/\s+/gu, " ").trim();
}

/**
 * @param {number[]} places
 * @param {number} at
 */
function nearest(places, at) {
  const distances = places.map((place) => Math.abs(place - at));
  return distances.indexOf(Math.min(...distances));
}
