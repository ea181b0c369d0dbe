const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;
const CONTROLS = /\p{Cc}+/gu;

/** Indexed values must stay within PostgreSQL's limits. */
const MAX_KEY_BYTES = 512;
const MAX_LABEL_BYTES = 1024;
const MAX_URL_BYTES = 4096;

/** A SKU: without control characters, otherwise as it is; null = blank. */
export function cleanKey(text: string | null): string | null {
  const clean = withoutControls(text ?? "");
  return clean.trim() === "" ? null : cut(clean, MAX_KEY_BYTES);
}

/** Text that is shown: without control characters and surrounding blanks; null = nothing is left. */
export function cleanLabel(text: string | null): string | null {
  return labelOf(text, MAX_LABEL_BYTES);
}

/** Text that is shown and grouped by. */
export function cleanGroup(text: string | null): string | null {
  return labelOf(text, MAX_KEY_BYTES);
}

/** An address or a description of an image. */
export function cleanLongText(text: string | null): string | null {
  return labelOf(text, MAX_URL_BYTES);
}

const OFFSET = /(?:Z|[+-]\d{2}:?\d{2})$/iu;
const DAY = /^\d{4}-\d{2}-\d{2}$/u;
const EARLIEST_MS = Date.UTC(1900, 0, 1);
const LATEST_MS = Date.UTC(2201, 0, 1);

/** Whether a text is a time of 1900 to 2200. */
export function isTime(text: string): boolean {
  return isInstant(instantOf(text));
}

/** Whether it is of 1900 to 2200: months before and after are computed from any time. */
export function isInstant(instantMs: number): boolean {
  return instantMs >= EARLIEST_MS && instantMs < LATEST_MS;
}

/** A time that its schema has checked, as ISO 8601 in UTC to the millisecond; without an offset it is UTC. */
export function timeOf(text: string): string {
  return new Date(instantOf(text)).toISOString();
}

function instantOf(text: string): number {
  return Date.parse(OFFSET.test(text) || DAY.test(text) ? text : `${text.trim().replace(" ", "T")}Z`);
}

/** Three letters, upper-cased; null for anything else. */
export function readCurrency(code: string): string | null {
  const upper = code.trim().toUpperCase();
  return /^[A-Z]{3}$/u.test(upper) ? upper : null;
}

/** Sorts gids of one type by their number: a longer one is larger. */
export function compareGids(left: string, right: string): number {
  return left.length - right.length || (left < right ? -1 : Number(left > right));
}

function labelOf(text: string | null, maxBytes: number): string | null {
  const clean = withoutControls(text ?? "").trim();
  return clean === "" ? null : cut(clean, maxBytes).trimEnd();
}

/** The text without control characters, which most have none of, and without halves of a character, which no database stores. */
export function withoutControls(text: string): string {
  return (CONTROL.test(text) ? text.replace(CONTROLS, "") : text).toWellFormed();
}

/** At a whole character. */
function cut(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString("utf8", 0, end);
}
