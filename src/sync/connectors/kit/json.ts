import { SourceFailed } from "../../connector.ts";

/** A JSON object of an answer, before its members are looked at. */
export type Json = Readonly<Record<string, unknown>>;

/** An answer that is not as the schema says; `recordId` null = not known whose. */
export class UnreadableAnswer extends SourceFailed {
  readonly problem: string;

  constructor(problem: string, recordId: string | null = null) {
    super(`Shopify's answer ${recordId === null ? "" : `about ${recordId} `}cannot be read: ${problem}.`);
    this.problem = problem;
  }
}

/** What `read` returns; where the answer cannot be read, its sentence names the record of `node`. */
export async function naming<Result>(node: Json, read: () => Promise<Result>): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    throw named(error, node);
  }
}

/** The same error, with the record it is about if it lacks one. */
export function named(error: unknown, { id, __parentId: parentId }: Json): unknown {
  if (!(error instanceof UnreadableAnswer)) return error;
  const ids = [id, parentId].filter((part) => typeof part === "string");
  return ids.length === 0 ? error : new UnreadableAnswer(error.problem, ids.join(" of "));
}

/**
 * Readers of one member each. `type` is what the platform calls the object. A member that is missing or of another
 * type than the schema's throws UnreadableAnswer: nothing is guessed.
 */
export function objectAt(node: Json, name: string, type: string): Json {
  const value = node[name];
  return isObject(value) ? value : unreadable(type, name, "an object");
}

export function objectOrNullAt(node: Json, name: string, type: string): Json | null {
  const value = node[name];
  if (value === null || value === undefined) return null;
  return isObject(value) ? value : unreadable(type, name, "an object or null");
}

export function textAt(node: Json, name: string, type: string): string {
  const value = node[name];
  return typeof value === "string" ? value : unreadable(type, name, "text");
}

export function textOrNullAt(node: Json, name: string, type: string): string | null {
  const value = node[name];
  if (value === null || value === undefined) return null;
  return typeof value === "string" ? value : unreadable(type, name, "text or null");
}

export function flagAt(node: Json, name: string, type: string): boolean {
  const value = node[name];
  return typeof value === "boolean" ? value : unreadable(type, name, "true or false");
}

/** A whole number; the platform writes some as text. */
export function wholeAt(node: Json, name: string, type: string): number {
  const value = typeof node[name] === "string" ? Number(node[name]) : node[name];
  return Number.isSafeInteger(value) ? (value as number) : unreadable(type, name, "a whole number");
}

export function wholeOrNullAt(node: Json, name: string, type: string): number | null {
  const value = node[name];
  return value === null || value === undefined ? null : wholeAt(node, name, type);
}

export function listAt(node: Json, name: string, type: string): Json[] {
  const value = node[name];
  if (!Array.isArray(value) || !value.every(isObject)) return unreadable(type, name, "a list of objects");
  return value;
}

export function choiceAt<Choice extends string>(
  node: Json,
  name: string,
  type: string,
  choices: readonly Choice[],
): Choice {
  const value = node[name];
  const choice = choices.find((known) => known === value);
  return choice ?? unreadable(type, name, `one of ${choices.join(", ")}`);
}

/** A moment, in UTC to the millisecond. */
export function timeAt(node: Json, name: string, type: string): string {
  return timeOrNullAt(node, name, type) ?? unreadable(type, name, "a time");
}

export function timeOrNullAt(node: Json, name: string, type: string): string | null {
  const text = textOrNullAt(node, name, type);
  if (text === null) return null;
  const instantMs = Date.parse(text);
  return Number.isNaN(instantMs) ? unreadable(type, name, "a time") : new Date(instantMs).toISOString();
}

/** The decimal text of a MoneyBag in the shop's currency. */
export function shopMoneyAt(node: Json, name: string, type: string): string {
  return textAt(objectAt(objectAt(node, name, type), "shopMoney", "MoneyBag"), "amount", "MoneyV2");
}

export function idAt(node: Json, name: string, type: string): string {
  return textAt(objectAt(node, name, type), "id", `${type}.${name}`);
}

export function idOrNullAt(node: Json, name: string, type: string): string | null {
  const object = objectOrNullAt(node, name, type);
  return object === null ? null : textAt(object, "id", `${type}.${name}`);
}

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function unreadable(type: string, name: string, expected: string): never {
  throw new UnreadableAnswer(`${type}.${name} should be ${expected}`);
}
