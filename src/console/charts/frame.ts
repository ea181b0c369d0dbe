import { html, type Html, type HtmlValue } from "../../lib/html.ts";
import type { ApiAnswer } from "../figure.ts";
import { place } from "./plot.ts";

/**
 * The input of every chart: the report's answer, the address of its table as CSV without the id at the end (null or absent: the
 * plan has no export), and the number of sold units below which a rate is unreliable: the workspace's `min_sold_units`.
 */
export type ChartInput = { answer: ApiAnswer; exportHref?: string | null; fewUnits?: number };

type FrameParts = {
  /** Unique on the page. */
  id: string;
  /** The finding, in one sentence. */
  title: HtmlValue;
  /** Content of the drawing and how to read it, for everyone and for screen readers. */
  summary: HtmlValue;
  exportHref?: string | null | undefined;
};

type ChartParts = FrameParts & {
  /** Content of the drawing, whose box is 100 % × 100 %; null: the table is clearer. */
  drawing: Html | null;
  /** Words at the end of the horizontal axis. */
  axisLabel?: string;
  legend?: readonly (LegendItem | false)[];
  notes?: readonly HtmlValue[];
  /** The same figures; a row with `data-x` is one stop of the readout. */
  table: Html;
  /** Whether the drawing needs half the height. */
  isShort?: boolean;
  /** Whether the table is open from the start, for a few rows. */
  isTableOpen?: boolean;
  /** Names the readout: the meaning of one step. */
  readout?: string;
};

export type LegendItem = { swatch: Html; text: HtmlValue };

/** A chart with its drawing, legend, notes, and the table with the same figures. */
export function chartFigure(parts: ChartParts): Html {
  const { id, drawing, notes = [], table } = parts;
  return chartFrame(
    parts,
    html`${drawing !== null && plot(parts, drawing)}
    ${notes.map((note) => note !== null && note !== false && html`<p class="chart-note">${note}</p>`)}
    ${
      drawing === null
        ? scrolling(id, table)
        : html`<details class="chart-table" ${parts.isTableOpen === true && html` open=""`}>
            <summary>The figures as a table</summary>
            ${scrolling(id, table)}
          </details>`
    }`,
    { summaryId: `${id}-summary`, readout: drawing === null ? undefined : parts.readout },
  );
}

/** The frame of every chart: its finding above, the way to its table as a file below. */
export function chartFrame(
  { id, title, summary, exportHref }: FrameParts,
  content: Html,
  { summaryId, readout }: { summaryId?: string; readout?: string | undefined } = {},
): Html {
  return html`<figure class="chart" id="${id}" ${readout !== undefined && html` data-readout="${readout}"`}>
    <figcaption>
      <p class="chart-title" id="${id}-title">${title}</p>
      <p class="chart-summary" ${summaryId !== undefined && html` id="${summaryId}"`}>${summary}</p>
    </figcaption>
    ${content} ${exportLink(exportHref, id)}
  </figure>`;
}

export const SHADES = [0, 1, 2, 3, 4, 5, 6, 7, 8] as const;

/** What the shades of a table mean, or one look of its cells. */
export function heatKey(text: string, look?: string): Html {
  const looks = look === undefined ? SHADES.map((shade) => `heat-${shade}`) : [look];
  return html`<li>
    <span class="heat-key" aria-hidden="true">${looks.map((each) => html`<span class="${each}"></span>`)}</span
    ><span>${text}</span>
  </li>`;
}

/** A table's name on the page, and its address as CSV without that name; null = the plan has no export. */
export type TableFile = { id: string; exportHref: string | null };

/** The way to the table with this id as a file. */
export function exportLink(href: string | null | undefined, id: string): Html | null {
  if (href === null || href === undefined) return null;
  return html`<p class="chart-export"><a href="${href + id}" download="">Download this table as CSV</a></p>`;
}

/** C5: replaces a chart without data. */
export function nothingToDraw(sentence: HtmlValue): Html {
  return html`<p class="chart-nothing">${sentence}</p>`;
}

/** A table that scrolls by itself where it is too wide, also by keyboard. */
export function scrolling(id: string, table: Html): Html {
  return html`<div class="chart-scroll" role="group" tabindex="0" aria-labelledby="${id}-title">
    ${table}
  </div>`;
}

function plot({ id, axisLabel, legend = [], isShort = false }: ChartParts, drawing: Html): Html {
  return html`<div class="${isShort ? "chart-plot short" : "chart-plot"}">
      <svg role="img" aria-labelledby="${id}-title" aria-describedby="${id}-summary">${drawing}</svg>
      ${axisLabel !== undefined && html`<p class="chart-axis" aria-hidden="true">${axisLabel}</p>`}
    </div>
    ${
      legend.some((item) => item !== false) &&
      html`<ul class="chart-legend">
        ${legend.map((item) => item !== false && legendItem(item))}
      </ul>`
    }`;
}

function legendItem({ swatch, text }: LegendItem): Html {
  return html`<li>
    <svg class="swatch" width="30" height="14" aria-hidden="true">${swatch}</svg><span>${text}</span>
  </li>`;
}

type TableRow = {
  head: HtmlValue;
  cells: readonly HtmlValue[];
  /** Where the row lies on the horizontal axis, 0–100; the readout stops there. */
  x?: number | undefined;
  /** Whether the readout begins with this row. */
  isStart?: boolean;
};

export function figureTable(heads: readonly HtmlValue[], rows: readonly TableRow[]): Html {
  return html`<table>
    <thead>
      <tr>
        ${heads.map((head) => html`<th scope="col">${head}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${rows.map(tableRow)}
    </tbody>
  </table>`;
}

function tableRow({ head, cells, x, isStart = false }: TableRow): Html {
  return html`<tr${x !== undefined && html` data-x="${place(x)}"`}${isStart && html` data-start=""`}><th scope="row">${head}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`;
}
