import {
  readChoices,
  readDay,
  readExpiry,
  readInteger,
  readLifetime,
  readOneOf,
  readText,
  UUID,
} from "./input.ts";
import { invalid, Refusal } from "./refusal.ts";

/** One of the values that a field allows, and how people read it. */
export type Choice = readonly [value: string, text: string];

/** How a form asks for a field; a command takes all but "flag" as text. */
type FieldKind =
  | "text"
  | "password"
  | "number"
  | "day"
  | "flag"
  | "choice"
  | "choices"
  | "lines"
  | "bytes"
  | "hidden";

/** One field of an action's input: its label, its limits, and the one reader of what a form or command was given. */
export type Field<Value> = {
  label: string;
  /** The allowed values in a few words: next to the form field, and in a command's help. */
  hint?: string;
  kind: FieldKind;
  choices?: readonly Choice[];
  isOptional?: boolean;
  /** A command's option name, if it differs from the field's. */
  option?: string;
  /** Placeholder of the value in a command's help, such as "code" for --currency <code>. */
  placeholder?: string;
  /** Form or command, if only one has this field. */
  only?: "form" | "command";
  /** `texts`: as given, [] = not at all. Throws `invalid`, which begins with `subject`. */
  read: (subject: string, texts: readonly string[], now: Date, body: Buffer) => Value;
};

export type Fields = Readonly<Record<string, Field<unknown>>>;

/** The values that the field readers return. */
export type InputOf<Inputs extends Fields> = {
  [Name in keyof Inputs]: Inputs[Name] extends Field<infer Value> ? Value : never;
};

/** The input of a form or command, by field, as typed; `subject` is the field's name in a sentence. */
export type Given = {
  texts: (name: string) => readonly string[];
  subject: (name: string, field: Field<unknown>) => string;
  /** The bytes that were sent instead of a form. */
  body?: Buffer;
  /** A form shows the words of choices, and none of their values. */
  isForm?: true;
};

type About = Pick<Field<unknown>, "hint" | "only" | "option" | "placeholder">;

const first = (texts: readonly string[]): string => texts[0] ?? "";

/** No text of the database has a NUL in it. */
function storable(subject: string, given: string): string {
  if (!given.includes("\0")) return given;
  throw invalid(`${subject} must be text without control characters.`);
}

/** Text of one line, of 1 to `most` characters. */
export function text(label: string, most: number, about: About = {}): Field<string> {
  return { label, ...about, kind: "text", read: (subject, texts) => readText(subject, first(texts), most) };
}

/** Text that its own reader checks. */
export function own<Value>(
  label: string,
  read: (subject: string, given: string, now: Date) => Value,
  about: About & { kind?: FieldKind } = {},
): Field<Value> {
  return {
    label,
    kind: "text",
    ...about,
    read: (subject, texts, now) => read(subject, storable(subject, first(texts)), now),
  };
}

/** Text that the action itself looks up. */
export function anyText(label: string, about: About & { kind?: FieldKind } = {}): Field<string> {
  return own(label, (_subject, typed) => typed, about);
}

/** A whole number; `most` null = as large as the database holds. */
export function integer(label: string, least: number, most: number | null, about: About = {}): Field<number> {
  return {
    label,
    ...about,
    kind: "number",
    read: (subject, texts) => readInteger(subject, first(texts).trim(), least, most),
  };
}

/** A day of the calendar, YYYY-MM-DD. */
export function day(label: string, about: About = {}): Field<string> {
  return { label, ...about, kind: "day", read: (subject, texts) => readDay(subject, first(texts).trim()) };
}

/** A moment in the future, or how long from now: 90d, 12h or a date-time. */
export function expiry(label: string, about: About = {}): Field<Date> {
  return own(label, (subject, given, now) => readExpiry(subject, given, now), about);
}

/** How long something lasts, in milliseconds: 90d, 12h. */
export function lifetime(label: string, about: About = {}): Field<number> {
  return own(label, (subject, given) => readLifetime(subject, given), about);
}

export function flag(label: string, about: About = {}): Field<boolean> {
  return { label, ...about, kind: "flag", isOptional: true, read: (_subject, texts) => texts.length > 0 };
}

/** One of a few values. */
export function oneOf<const Value extends string>(
  label: string,
  choices: readonly (readonly [value: Value, text: string])[],
  about: About = {},
): Field<Value> {
  const values = choices.map(([value]) => value);
  return {
    label,
    ...about,
    kind: "choice",
    choices,
    read: (subject, texts) => readOneOf(subject, first(texts), values),
  };
}

/** Some of a few values, at least one, in the order of `choices`; a command takes them as a comma-separated list. */
export function someOf<const Value extends string>(
  label: string,
  choices: readonly (readonly [value: Value, text: string])[],
  about: About = {},
): Field<Value[]> {
  const values = choices.map(([value]) => value);
  return {
    label,
    ...about,
    kind: "choices",
    choices,
    read: (subject, texts) => {
      const chosen = readChoices(subject, texts, values);
      if (chosen.length > 0) return chosen;
      throw invalid(`${subject} must name at least one of ${values.join(", ")}.`);
    },
  };
}

/** Texts, one per line of a form, or a repeated option; blank ones are ignored, and none is allowed. */
export function lines(label: string, about: About = {}): Field<string[]> {
  return {
    label,
    ...about,
    kind: "lines",
    isOptional: true,
    read: (subject, texts) =>
      texts
        .flatMap((each) => storable(subject, each).split("\n"))
        .map((line) => line.trim())
        .filter((line) => line !== ""),
  };
}

/** Every text of that name, such as the files that a script sends. */
export function textList(label: string): Field<readonly string[]> {
  return { label, kind: "hidden", only: "form", read: (_subject, given) => given };
}

/** The bytes that are sent instead of a form; the path holds the action's other fields. */
export function bodyBytes(label: string): Field<Buffer> {
  return { label, kind: "bytes", only: "form", read: (_subject, _texts, _now, body) => body };
}

/** The same field, optional: null. */
export function optional<Value>(field: Field<Value>): Field<Value | null> {
  return {
    ...field,
    isOptional: true,
    read: (subject, given, ...rest) =>
      given.every((each) => each.trim() === "") ? null : field.read(subject, given, ...rest),
  };
}

/** Identifies the form, so that sending it twice acts once, on any server. */
export const requestKey = optional(
  own(
    "The form",
    (_subject, key): string => {
      if (UUID.test(key)) return key;
      throw invalid("The form is not complete: open it again.");
    },
    { kind: "hidden", only: "form" },
  ),
);

/** The same field, optional: undefined. A blank text counts as given. */
export function omittable<Value>(field: Field<Value>): Field<Value | undefined> {
  return {
    ...field,
    isOptional: true,
    read: (subject, texts, ...rest) => (texts.length === 0 ? undefined : field.read(subject, texts, ...rest)),
  };
}

/**
 * Reads every field.
 *
 * @throws Refusal `invalid` with a sentence for each field that is wrong, in `problems` by its name
 */
export function readInput<Inputs extends Fields>(fields: Inputs, given: Given, now: Date): InputOf<Inputs> {
  const problems: { name: string; sentence: string }[] = [];
  const { body = Buffer.alloc(0) } = given;
  const entries = Object.entries(fields).map(([name, field]) => {
    const [subject, texts] = [given.subject(name, field), given.texts(name)];
    try {
      return [name, field.read(subject, texts, now, body)];
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      problems.push({ name, sentence: sentenceOf(field, subject, error, given) });
      return [name, undefined];
    }
  });
  if (problems.length === 0) return Object.fromEntries(entries) as InputOf<Inputs>;
  throw new Refusal("invalid", problems.map(({ sentence }) => sentence).join(" "), problems);
}

function sentenceOf(
  { kind }: Field<unknown>,
  subject: string,
  { message }: Refusal,
  { isForm }: Given,
): string {
  if (isForm !== true || (kind !== "choice" && kind !== "choices")) return message;
  return `${subject}: choose ${kind === "choice" ? "one" : "at least one"} of the values that are shown.`;
}

/** Input of a form: texts by field, named by their labels. */
export function formInput(texts: Given["texts"]): Given {
  return { texts, subject: labelOf, isForm: true };
}

/** Input of a program: texts by field, named by their labels. */
export function textInput(values: Readonly<Record<string, string | readonly string[] | undefined>>): Given {
  return {
    texts: (name) => {
      const value = values[name] ?? [];
      return typeof value === "string" ? [value] : value;
    },
    subject: labelOf,
  };
}

function labelOf(_name: string, { label }: Field<unknown>): string {
  return label;
}

/** Text typed to confirm a destructive action; null in a command, which asks instead. */
export const typedName: Field<string | null> = {
  label: "Type its name to confirm",
  kind: "text",
  only: "form",
  read: (_subject, [typed]) => typed?.trim() ?? null,
};
