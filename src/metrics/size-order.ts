/** A size for sorting: letters before numbers, numbers of one system together, ascending. */
export type SizePlace = { system: string; first: number; second: number };

const LETTERS: Readonly<Record<string, number>> = { s: -1, small: -1, m: 0, medium: 0, l: 1, large: 1 };
const LETTER_SIZE = /^(?:(x{1,5}|[2-9]x)[ -]?)?(s|m|l|small|medium|large)$/u;
const NUMBER =
  /^([a-z]{0,3})[ .:-]?(\d{1,3})(?:[.,](\d)|(½)| ([1-3])\/[24])?(?:[ -]?[/x-][ -]?l?(\d{1,3}))? ?([a-z]{0,3})$/u;
/** Words before or behind a number that say which system it is of; others make it no size. */
const SYSTEMS: ReadonlySet<string> = new Set([
  "",
  "eu",
  "uk",
  "us",
  "fr",
  "it",
  "de",
  "es",
  "jp",
  "au",
  "w",
  "cm",
]);

/**
 * A value's position among sizes: XXS to 9XL, two of them such as S/M in between, numbers with halves, of EU, UK, US and other
 * systems, and waist and length. null: not a size.
 */
export function sizePlace(value: string): SizePlace | null {
  const text = value.trim().toLowerCase();
  if (text.length > 20) return null;
  const letters = text.split("/").map(letterPlace);
  const places = letters.filter((place) => place !== null);
  if (places.length === letters.length && places.length <= 2) {
    return { system: "", first: places.reduce((sum, place) => sum + place, 0) / places.length, second: 0 };
  }
  const match = NUMBER.exec(text);
  if (match === null) return null;
  const [, before = "", whole = "", tenths = "0", half, quarters, length = "0", behind = ""] = match;
  if (!SYSTEMS.has(before) || !SYSTEMS.has(behind) || (before !== "" && behind !== "")) return null;
  const part = half === undefined && quarters === undefined ? Number(tenths) / 10 : 0.5;
  return { system: `#${before}${behind}`, first: Number(whole) + part, second: Number(length) };
}

/** XS is one S further out: −2; a plain S −1, M 0. */
function letterPlace(text: string): number | null {
  const [, times = "", letter = ""] = LETTER_SIZE.exec(text.trim()) ?? [];
  const place = LETTERS[letter];
  if (place === undefined) return null;
  const steps = times.startsWith("x") ? times.length : Number(times.slice(0, -1));
  return place === 0 && steps > 0 ? null : place + Math.sign(place) * steps;
}

/** The smaller size first; sizes before all else, whose order is left as it is. */
export function compareSizes(left: string, right: string): number {
  const [one, other] = [sizePlace(left), sizePlace(right)];
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  if (one.system !== other.system) return one.system < other.system ? -1 : 1;
  return one.first - other.first || one.second - other.second;
}
