import { currencyExponent, minorFromDecimal } from "../../../metrics/money.ts";
import { SourceFailed } from "../../connector.ts";

/** The members of one object of an answer, read by the type they must have. */
export type SaidFields = {
  text(name: string): string;
  /** Null and '' are none. */
  optionalText(name: string): string | null;
  /** Text, or a number that stands for one. */
  id(name: string): string;
  optionalId(name: string): string | null;
  /** Null and an absent one are false. */
  flag(name: string): boolean;
  count(name: string): number;
  /** ISO 8601; without an offset it is UTC. */
  time(name: string): string;
  optionalTime(name: string): string | null;
  optionalFields(name: string): SaidFields | null;
  /** The objects of a list; an absent list is empty when `isOptional`. */
  list(name: string, isOptional?: boolean): SaidFields[];
  raw(name: string): unknown;
  /** To be thrown: a member is not what it should be. */
  failure(name: string, expected: string): SourceFailed;
};

/** Every method throws `SourceFailed` with one sentence when a member is not of its type. `what`: "a label". */
export function readFields(value: unknown, title: string, what: string): SaidFields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new SourceFailed(`The answer of ${title} is not as documented: ${what} is no object.`);
  }
  const members = value as Record<string, unknown>;
  const failure = (name: string, expected: string): SourceFailed =>
    new SourceFailed(`The answer of ${title} is not as documented: ${name} of ${what} is no ${expected}.`);
  const required = <Value>(name: string, found: Value | null, expected: string): Value => {
    if (found === null) throw failure(name, expected);
    return found;
  };
  const optionalText = (name: string): string | null => {
    const member = members[name] ?? null;
    if (member !== null && typeof member !== "string") throw failure(name, "text");
    return cleanText(member);
  };
  const optionalId = (name: string): string | null => {
    const member = members[name];
    return typeof member === "number" && Number.isSafeInteger(member) ? String(member) : optionalText(name);
  };
  const optionalTime = (name: string): string | null => {
    const text = optionalText(name);
    return text === null ? null : required(name, readTime(text), "time");
  };
  return {
    text: (name) => required(name, optionalText(name), "text"),
    optionalText,
    id: (name) => required(name, optionalId(name), "text"),
    optionalId,
    flag: (name) => {
      const member = members[name] ?? false;
      if (typeof member !== "boolean") throw failure(name, "true or false");
      return member;
    },
    count: (name) => {
      const member = members[name];
      if (!Number.isSafeInteger(member) || (member as number) < 0) throw failure(name, "whole number");
      return member as number;
    },
    time: (name) => required(name, optionalTime(name), "time"),
    optionalTime,
    optionalFields: (name) => {
      const member = members[name] ?? null;
      return member === null ? null : readFields(member, title, `${name} of ${what}`);
    },
    list: (name, isOptional = false) => {
      const member = members[name] ?? (isOptional ? [] : null);
      if (!Array.isArray(member)) throw failure(name, "list");
      return member.map((item) => readFields(item, title, `one of the ${name}`));
    },
    raw: (name) => members[name] ?? null,
    failure,
  };
}

/**
 * M9: an amount in minor units of its currency; a number is taken as the decimal it is written as. Decimals beyond the
 * currency's are rounded half up. Null when it is no amount, or below zero.
 */
export function readAmount(amount: unknown, currencyCode: string): number | null {
  const text = typeof amount === "number" ? String(amount) : amount;
  if (typeof text !== "string") return null;
  const match = /^(\d+)(?:\.(\d+))?$/u.exec(text.trim());
  if (match === null) return null;
  const [, integer = "", fraction = ""] = match;
  const exponent = currencyExponent(currencyCode);
  const minor = minorFromDecimal(`${integer}.${fraction.slice(0, exponent) || "0"}`, exponent);
  if (minor === null) return null;
  return /^[5-9]/u.test(fraction.slice(exponent)) ? minor + 1 : minor;
}

/** Three letters, upper-cased; null for anything else. */
export function readCurrency(code: string): string | null {
  const upper = code.trim().toUpperCase();
  return /^[A-Z]{3}$/u.test(upper) ? upper : null;
}

/** Control characters stripped and trimmed; '' is null. */
function cleanText(text: string | null): string | null {
  const clean = (text ?? "").replace(/[\u0000-\u001f\u007f]/gu, "").trim();
  return clean === "" ? null : clean;
}

function readTime(text: string): string | null {
  const hasOffset = /(?:Z|[+-]\d{2}:?\d{2})$/iu.test(text);
  const isDay = /^\d{4}-\d{2}-\d{2}$/u.test(text);
  const date = new Date(hasOffset || isDay ? text : `${text.replace(" ", "T")}Z`);
  const year = date.getUTCFullYear();
  return Number.isNaN(year) || year < 1990 || year > 2200 ? null : date.toISOString();
}
