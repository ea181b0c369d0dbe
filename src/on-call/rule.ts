/** What the value of a rule is: shown in seconds as a duration, as a share in percent, else as a number. */
export type Unit = "seconds" | "share" | "count";

/** Critical wakes somebody; a warning is looked at in the next working hour. */
export type Severity = "critical" | "warning";

/** One alert: when it is given, and its sentence. Prometheus, `./returns doctor` and docs/on-call.md are made from it. */
export type Rule = {
  name: string;
  severity: Severity;
  /** PromQL: what is compared with the limit, for each of its labels. */
  value: string;
  is: ">" | ">=" | "<" | "==";
  limit: number;
  unit: Unit;
  /** How long it has to be so. */
  forMinutes: number;
  /** The label that the sentence names; null = none. */
  about: string | null;
  sentence: (value: string, about: string) => string;
  /** Where `./returns doctor` finds the same out; null = only Prometheus sees it. */
  doctor: "database" | "metrics" | null;
};

/** Rules that an operator uses, or leaves out, together. */
export type RuleGroup = { name: string; rules: readonly Rule[] };

/** Whether a value is what the rule alerts to. */
export function isBroken({ is, limit }: Pick<Rule, "is" | "limit">, value: number): boolean {
  switch (is) {
    case ">":
      return value > limit;
    case ">=":
      return value >= limit;
    case "<":
      return value < limit;
    case "==":
      return value === limit;
  }
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A value for people: "2 h 5 min", "4.2 %", "3". */
export function formatValue(value: number, unit: Unit): string {
  if (unit === "share") return `${Math.round(value * 1000) / 10} %`;
  return unit === "seconds" ? formatSeconds(value) : String(value);
}

function formatSeconds(seconds: number): string {
  if (seconds < 10) return `${Math.round(seconds * 100) / 100} s`;
  const whole = Math.round(seconds);
  if (whole < MINUTE) return `${whole} s`;
  const [large, small, names] = (
    [
      [DAY, HOUR, ["d", "h"]],
      [HOUR, MINUTE, ["h", "min"]],
      [MINUTE, 1, ["min", "s"]],
    ] as const
  ).find(([unit]) => whole >= unit) ?? [MINUTE, 1, ["min", "s"]];
  const rest = Math.floor((whole % large) / small);
  return `${Math.floor(whole / large)} ${names[0]}${rest === 0 ? "" : ` ${rest} ${names[1]}`}`;
}
