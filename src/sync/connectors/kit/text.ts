const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;
const CONTROLS = /\p{Cc}+/gu;

/** What is indexed has to stay within PostgreSQL's limits. */
const MAX_KEY_BYTES = 512;
const MAX_LABEL_BYTES = 1024;
const MAX_URL_BYTES = 4096;

/** A SKU: without control characters, otherwise as it is; null = blank. */
export function cleanKey(text: string | null): string | null {
  const clean = withoutControls(text);
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

/** ISO 8601, in UTC to the millisecond; without an offset it is UTC. Null = it is no time of this or the last century. */
export function readTime(text: string): string | null {
  const hasOffset = /(?:Z|[+-]\d{2}:?\d{2})$/iu.test(text);
  const isDay = /^\d{4}-\d{2}-\d{2}$/u.test(text);
  const time = new Date(hasOffset || isDay ? text : `${text.trim().replace(" ", "T")}Z`);
  const year = time.getUTCFullYear();
  return Number.isNaN(year) || year < 1900 || year > 2200 ? null : time.toISOString();
}

/** The same of a time that its schema has checked. */
export function timeOf(text: string): string {
  return readTime(text) ?? text;
}

/** Three letters, upper-cased; null for anything else. */
export function readCurrency(code: string): string | null {
  const upper = code.trim().toUpperCase();
  return /^[A-Z]{3}$/u.test(upper) ? upper : null;
}

/** Orders gids of one type by their number: a longer one is a larger one. */
export function compareGids(left: string, right: string): number {
  return left.length - right.length || (left < right ? -1 : Number(left > right));
}

function labelOf(text: string | null, maxBytes: number): string | null {
  const clean = withoutControls(text).trim();
  return clean === "" ? null : cut(clean, maxBytes).trimEnd();
}

function withoutControls(text: string | null): string {
  if (text === null) return "";
  return CONTROL.test(text) ? text.replace(CONTROLS, "") : text;
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
