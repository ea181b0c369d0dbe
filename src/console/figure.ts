import { html, type Html } from "../lib/html.ts";

/** An answer of the API, under the name by which its page lists the request ("report", "worst_by_rate"). */
export type ApiAnswer<Body = unknown> = { name: string; body: Body };

/** Writes a figure for people, `owner` being the object that it is a member of. It may round, because the exact value stays in the markup. */
export type Format<Value> = (value: Value, owner?: unknown) => string | Html;

/**
 * C1: the only way to write a figure. `path` leads from the answer's `data` to the value, as "summary/return_rate" or
 * "0/sold_units", or from `meta` as "meta/total_eligible". The markup contains the API's exact value and its path. C5: null shows
 * a dash and its reason, `absent`.
 */
export function figure<Value extends number | string | boolean>(
  answer: ApiAnswer,
  path: string,
  format: Format<Value>,
  absent = "not known",
): Html {
  const value = valueAt(answer, path);
  const source = `${answer.name}/${path}`;
  if (value === null || value === undefined) {
    return html`<data class="absent" value="null" data-from="${source}">– <small>${absent}</small></data>`;
  }
  const exact = typeof value === "string" ? value : JSON.stringify(value);
  return html`<data value="${exact}" data-from="${source}">${format(value as Value, ownerAt(answer, path))}</data>`;
}

/** The figures of an answer below a path, by their names. */
export function figuresAt(answer: ApiAnswer, path: string) {
  return <Value extends number | string | boolean>(name: string, format: Format<Value>, absent?: string) =>
    figure(answer, `${path}/${name}`, format, absent);
}

function ownerAt(answer: ApiAnswer, path: string): unknown {
  const end = path.lastIndexOf("/");
  return valueAt(answer, path.slice(0, Math.max(0, end)));
}

/** The value to which a path of `figure` leads; of the empty one all of `data`. */
export function valueAt({ body }: ApiAnswer, path: string): unknown {
  const steps = path === "" ? [] : path.split("/");
  const start = steps[0] === "meta" ? body : (body as { data: unknown }).data;
  return steps.reduce<unknown>((value, step) => (value as Record<string, unknown> | null)?.[step], start);
}
