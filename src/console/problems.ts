import { listParameters } from "../contract/endpoint.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { ENDPOINTS } from "../contract/registry.ts";
import type { Problem } from "./page.ts";

const NAMES = [
  ...new Set(
    (ENDPOINTS as readonly Endpoint[]).flatMap(({ parameters }) =>
      listParameters(parameters).map(({ name }) => name),
    ),
  ),
];

/** Where a sentence ends and one begins with the name of a parameter. */
const BEFORE_A_NAME = new RegExp(`(?<=[.?]) (?=(?:${NAMES.join("|")}) )`, "u");

/** The sentences of a refusal of the API, which joins them: each begins with the parameter that it is about, if one. */
export function problemsOf(message: string): Problem[] {
  return message.split(BEFORE_A_NAME).map((sentence) => {
    const [first = ""] = sentence.split(" ", 1);
    return { name: NAMES.includes(first) ? first : null, sentence };
  });
}
