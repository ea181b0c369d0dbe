import { RULE_GROUPS } from "../../src/on-call/rules.ts";
import type { Rule, Unit } from "../../src/on-call/rule.ts";

export const RULES_FILE = "deploy/prometheus/rules.yml";

const VALUE: Readonly<Record<Unit, string>> = {
  seconds: "{{ $value | humanizeDuration }}",
  share: "{{ $value | humanizePercentage }}",
  count: "{{ $value }}",
};

/** The alerting rules as Prometheus reads them. */
export function rulesText(): string {
  const groups = RULE_GROUPS.map(
    ({ name, rules }) =>
      `  - name: ${name}\n    rules:\n${rules.map((rule: Rule) => ruleText(rule)).join("")}`,
  );
  return `# Written by npm run on-call from src/on-call/rules.ts. docs/on-call.md explains each alert.\ngroups:\n${groups.join("")}`;
}

/** The expression that gives an alert for each of its labels. */
export function expressionOf({ value, is, limit }: Rule): string {
  return `${value} ${is} ${limit}`;
}

/** The section of the guide that says what an alert means and what to do. */
export function runbookOf({ name }: Pick<Rule, "name">): string {
  return `docs/on-call.md#${name.toLowerCase()}`;
}

/** "5m", "1d". */
export function durationOf(minutes: number): string {
  if (minutes % 1440 === 0) return `${minutes / 1440}d`;
  return minutes % 60 === 0 ? `${minutes / 60}h` : `${minutes}m`;
}

function ruleText(rule: Rule): string {
  const about = rule.about === null ? "" : `{{ $labels.${rule.about} }}`;
  return [
    `      - alert: ${rule.name}`,
    `        expr: ${quoted(expressionOf(rule))}`,
    `        for: ${durationOf(rule.forMinutes)}`,
    "        labels:",
    `          severity: ${rule.severity}`,
    "        annotations:",
    `          summary: ${quoted(rule.sentence(VALUE[rule.unit], about))}`,
    `          runbook: ${runbookOf(rule)}`,
    "",
  ].join("\n");
}

/** A YAML string; what JSON writes is one, too. */
function quoted(text: string): string {
  return text.includes("'") ? JSON.stringify(text) : `'${text}'`;
}
