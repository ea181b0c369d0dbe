import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { figure, valueAt } from "../figure.ts";
import type { ApiAnswer } from "../figure.ts";
import { month } from "../format.ts";

/** The months of an answer: "Oct 2025 to Sep 2026", or the one. */
export function monthRange(answer: ApiAnswer): Html {
  const end = figure(answer, "meta/end_month", month);
  const isOne = valueAt(answer, "meta/start_month") === valueAt(answer, "meta/end_month");
  return isOne ? end : html`${figure(answer, "meta/start_month", month)} to ${end}`;
}
