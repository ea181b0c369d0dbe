import { dayFromText } from "../lib/month.ts";
import { invalid } from "./refusal.ts";

export const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u;
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f-\u009f]/u;
const INSTANT = /^(\d{4}-\d{2}-\d{2})[Tt]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:\d{2})$/u;
const LIFETIME = /^(\d{1,6})([dh])$/u;
const HOUR_MS = 3_600_000;

/** Trimmed text of 1 to `maxLength` characters without control characters. Throws `invalid`, naming the field. */
export function readText(name: string, value: string, maxLength: number): string {
  const text = value.trim();
  const isPlain = text.isWellFormed() && !CONTROL_CHARACTER.test(text);
  if (text !== "" && text.length <= maxLength && isPlain) return text;
  throw invalid(`${name} must be text of 1 to ${maxLength} characters without control characters.`);
}

/** A whole number in plain decimal; `maximum` null = as large as the database holds. */
export function readInteger(name: string, value: string, minimum: number, maximum: number | null): number {
  const number = /^\d{1,10}$/u.test(value) ? Number(value) : Number.NaN;
  if (number >= minimum && number <= (maximum ?? 2_147_483_647)) return number;
  const allowed = maximum === null ? `of at least ${minimum}` : `from ${minimum} to ${maximum}`;
  throw invalid(`${name} must be a whole number ${allowed}.`);
}

export function readOneOf<Choice extends string>(
  name: string,
  value: string,
  choices: readonly Choice[],
): Choice {
  const found = choices.find((choice) => choice === value);
  if (found === undefined) throw invalid(`${name} must be one of ${choices.join(", ")}.`);
  return found;
}

/** Distinct choices, in the order of `choices`. A command gives them in one text, separated by commas. */
export function readChoices<Choice extends string>(
  name: string,
  texts: readonly string[],
  choices: readonly Choice[],
): Choice[] {
  const given = texts
    .flatMap((text) => text.split(","))
    .map((item) => item.trim())
    .filter((item) => item !== "");
  const unknown = given.find((item) => !choices.some((choice) => choice === item));
  if (unknown === undefined) return choices.filter((choice) => given.includes(choice));
  throw invalid(
    `${name} must be a comma-separated list of ${choices.join(", ")}; ${quoted(unknown)} is not one of them.`,
  );
}

/** A day of the calendar, YYYY-MM-DD. */
export function readDay(name: string, value: string): string {
  if (dayFromText(value) !== null) return value;
  throw invalid(`${name} must be a day written YYYY-MM-DD, such as 2026-01-31.`);
}

/** A moment with an offset or Z, or a day, which means its first moment in UTC. */
export function readInstant(name: string, value: string): Date {
  const day = INSTANT.exec(value)?.[1] ?? value;
  const instant = new Date(day === value ? `${value}T00:00:00Z` : value);
  if (dayFromText(day) !== null && !Number.isNaN(instant.getTime())) return instant;
  throw invalid(
    `${name} must be a date-time with an offset or Z, such as 2026-01-31T00:00:00Z, or a day, such as 2026-01-31.`,
  );
}

/** How long something lasts, in milliseconds: days or hours, such as 90d or 12h. */
export function readLifetime(name: string, value: string): number {
  const lifetimeMs = lifetimeOf(value);
  if (lifetimeMs === null) throw invalid(`${name} must be a number of days or hours, such as 90d or 12h.`);
  return lifetimeMs;
}

/** A moment in the future, or how long from `now`: 90d, 12h or a date-time. */
export function readExpiry(name: string, value: string, now: Date): Date {
  const lifetimeMs = lifetimeOf(value);
  const expiresAt = lifetimeMs === null ? readInstantOrNull(value) : new Date(now.getTime() + lifetimeMs);
  if (expiresAt !== null && expiresAt > now && expiresAt.getUTCFullYear() <= 9999) return expiresAt;
  throw invalid(
    `${name} must be a number of days or hours, such as 90d or 12h, or a future date-time, such as 2030-01-31T00:00:00Z.`,
  );
}

/** Text of the operator's own, for a message: bounded and without what could disturb a terminal. */
export function quoted(text: string): string {
  const plain = text.toWellFormed().replaceAll(new RegExp(CONTROL_CHARACTER, "gu"), "?");
  return JSON.stringify(plain.length > 80 ? `${plain.slice(0, 80)}…` : plain);
}

function lifetimeOf(value: string): number | null {
  const match = LIFETIME.exec(value);
  if (match === null) return null;
  return Number(match[1]) * (match[2] === "d" ? 24 : 1) * HOUR_MS;
}

function readInstantOrNull(value: string): Date | null {
  try {
    return readInstant("", value);
  } catch {
    return null;
  }
}
