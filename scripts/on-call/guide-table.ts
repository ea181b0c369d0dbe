import { formatValue } from "../../src/on-call/rule.ts";
import type { Rule } from "../../src/on-call/rule.ts";
import { RULES } from "../../src/on-call/rules.ts";
import { durationOf } from "./prometheus-rules.ts";

export const GUIDE_FILE = "docs/on-call.md";
const HEADING = "| Alert | Severity | Fires when | For | `doctor` |";

/** The guide with its table of alerts as the rules have it. Throws when it has no such table. */
export function withTable(guide: string): string {
  const lines = guide.split("\n");
  const start = lines.indexOf(HEADING) + 2;
  if (start < 2) throw new Error(`${GUIDE_FILE} has no line ${HEADING}`);
  const end = lines.findIndex((line, index) => index >= start && !line.startsWith("|"));
  return lines.toSpliced(start, end - start, ...RULES.map(rowOf)).join("\n");
}

const SEEN = { database: "yes", metrics: "from `/metrics`" } as const;

/** The sentence names the limit as its value, and its label by name. */
function rowOf(rule: Rule): string {
  const { name, severity, limit, unit, about, forMinutes, doctor } = rule;
  const sentence = rule.sentence(formatValue(limit, unit), about === null ? "" : `\`${about}\``);
  const cells = [
    `[${name}](#${name.toLowerCase()})`,
    severity,
    sentence,
    durationOf(forMinutes),
    doctor === null ? "–" : SEEN[doctor],
  ];
  return `| ${cells.join(" | ")} |`;
}
