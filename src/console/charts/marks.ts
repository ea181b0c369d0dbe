import { html, type Html } from "../../lib/html.ts";
import { dayFromText } from "../../lib/month.ts";
import { figure, type ApiAnswer } from "../figure.ts";
import { day } from "../format.ts";
import type { BodyOf } from "../page.ts";
import { FULL, place } from "./plot.ts";

/** An event on days of a trend, YYYY-MM-DD: marked in the drawing, named in the table. */
export type Mark = { kind: "problem" | "sale"; startsOn: string; endsOn: string; name: string; words: Html };

/** The store's sale days. */
export function saleMarks(answer: ApiAnswer<BodyOf<"report">>): Mark[] {
  return answer.body.data.sale_events.map(({ label: name, starts_on: startsOn, ends_on: endsOn }, index) => {
    const at = (end: string): Html => figure(answer, `sale_events/${index}/${end}`, day);
    return {
      kind: "sale",
      startsOn,
      endsOn,
      name,
      words: html`sale ${name}, ${at("starts_on")} to ${at("ends_on")}`,
    };
  });
}

/** The start of problems, from the first alert of each episode; `isOwn` selects alerts by their facts. */
export function problemMarks(
  alerts: ApiAnswer<BodyOf<"alerts">>,
  isOwn: (facts: Readonly<Record<string, unknown>>) => boolean = () => true,
): Mark[] {
  const marks = alerts.body.data.flatMap(({ title, metadata }, index) => {
    const { episode_id: episode, started_on: startsOn } = metadata ?? {};
    if (typeof episode !== "string" || typeof startsOn !== "string" || !isOwn(metadata ?? {})) return [];
    const words = html`problem since ${figure(alerts, `${index}/metadata/started_on`, day)}: <span>${title}</span>`;
    return [{ episode, mark: { kind: "problem" as const, startsOn, endsOn: startsOn, name: title, words } }];
  });
  // The feed begins with the newest.
  return [...new Map(marks.map(({ episode, mark }) => [episode, mark])).values()];
}

/** Days of a column of the drawing, counted from 1970-01-01; `end` is the day after. */
export type ColumnDays = { start: number; end: number };

/** The marks of a column, oldest first. */
export function marksOf({ start, end }: ColumnDays, marks: readonly Mark[]): Mark[] {
  return marks
    .filter(({ startsOn, endsOn }) => known(startsOn) < end && known(endsOn) >= start)
    .toSorted((one, other) => (one.startsOn < other.startsOn ? -1 : 1));
}

function known(text: string): number {
  return dayFromText(text) ?? Number.NaN;
}

/** Sale days as a bar on the axis, the begin of a problem as a triangle above it, in the columns of the drawing. */
export function marksDrawing(marked: readonly (ColumnDays & { marks: readonly Mark[] })[]): Html {
  const step = FULL / marked.length;
  return html`${marked.map(({ start: first, end, marks }, index) => {
    const x = (at: number): string =>
      place(step * (index + (Math.min(Math.max(at, first), end) - first) / (end - first)));
    return marks.map(({ kind, startsOn, endsOn, name }) => {
      const start = x(known(startsOn));
      return kind === "sale"
        ? html`<line class="sale" x1="${start}" x2="${x(known(endsOn) + 1)}" y1="100%" y2="100%"
            ><title>${name}</title></line
          >`
        : html`<svg x="${start}" y="100%" overflow="visible">${triangle(name)}</svg>`;
    });
  })}`;
}

/** Where a problem begins; the sample of the legend has no name. */
export function triangle(name: string | null = null): Html {
  return html`<path class="problem" d="M0-11 7 2H-7z">${name !== null && html`<title>${name}</title>`}</path>`;
}
