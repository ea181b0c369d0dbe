const LONGEST_NAME = 64;
const SHORTEST_PART = 3;

/** Vendors and options have names from outside: a model is shown only short texts that look like names. */
export const SHOWN_NAME = /^[\p{L}\p{N}][\p{L}\p{N} .&'_-]{0,39}$/u;

/**
 * The most likely candidate for a misspelt name, or null: one that differs by a letter or two (ignoring case and separators),
 * else one that begins with the name or the reverse, else one that contains the other. Among equals the one nearest in length.
 */
export function nearestName(name: string, candidates: readonly string[]): string | null {
  const plainName = plain(name);
  if (plainName === "" || name.length > LONGEST_NAME) return null;
  let nearest: string | null = null;
  let nearestDistance = Infinity;
  for (const candidate of candidates) {
    const distance = distanceOf(plainName, plain(candidate));
    if (distance < nearestDistance) [nearest, nearestDistance] = [candidate, distance];
  }
  return nearest;
}

/** The end of a sentence about a misspelt name: the most likely candidate as it is written there, if there is one. */
export function meantText(name: string, candidates: readonly string[], prefix = ""): string {
  const nearest = nearestName(name, candidates);
  return nearest === null ? "." : `; did you mean ${prefix}${nearest}?`;
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, "");
}

const PREFIX = 100;
const PART = 200;

/** Smaller is nearer: edits, then prefixes, then parts, each by the difference in length; Infinity: unrelated. */
function distanceOf(one: string, other: string): number {
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  const edits = editDistance(one, other);
  if (edits <= (short.length < 5 ? 1 : 2) && edits < short.length) return edits;
  if (short.length < SHORTEST_PART || !long.includes(short)) return Infinity;
  return (long.startsWith(short) ? PREFIX : PART) + long.length - short.length;
}

/** Insertions, deletions, replacements and swaps of neighbours that turn one text into the other. */
function editDistance(one: string, other: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1];
      const isSwap =
        row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      current[column] = Math.min(
        (previous[column] as number) + 1,
        (current[column - 1] as number) + 1,
        (previous[column - 1] as number) + (isSame ? 0 : 1),
        isSwap ? (beforePrevious[column - 2] as number) + 1 : Infinity,
      );
    }
    [beforePrevious, previous] = [previous, current];
  }
  return previous[other.length] as number;
}
