import { BACKUP_RULES, DATA_RULES } from "./data-rules.ts";
import { REQUEST_RULES } from "./request-rules.ts";
import { isBroken } from "./rule.ts";
import type { Rule, RuleGroup } from "./rule.ts";
import { SERVICE_RULES } from "./service-rules.ts";

/** Every rule, in the order of docs/on-call.md. */
export const RULE_GROUPS = [
  { name: "returns-service", rules: SERVICE_RULES },
  { name: "returns-requests", rules: REQUEST_RULES },
  { name: "returns-data", rules: DATA_RULES },
  { name: "returns-backup", rules: BACKUP_RULES },
] as const satisfies readonly RuleGroup[];

export const RULES: readonly Rule[] = RULE_GROUPS.flatMap(({ rules }): readonly Rule[] => rules);

export type RuleName = (typeof RULE_GROUPS)[number]["rules"][number]["name"];

export function findRule(name: RuleName): Rule {
  return RULES.find((rule) => rule.name === name) as Rule;
}

/** Whether a rule alerts to a value, once it has been so for its minutes. */
export function alertsTo(name: RuleName, value: number): boolean {
  return isBroken(findRule(name), value);
}
