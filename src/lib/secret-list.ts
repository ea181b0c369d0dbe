/**
 * The root secrets of a list, newest first, which commas separate; each once. One that is in use may hold commas itself, as earlier
 * versions allowed: it has to be the last.
 */
export function secretsOf(list: string, isKnown: (secret: string) => boolean): string[] {
  const parts = list.split(",");
  const rests = parts.map((_, place) => parts.slice(place).join(",").trim());
  const place = rests.findIndex(isKnown);
  const newer = place === -1 ? parts : parts.slice(0, place);
  return [...new Set([...newer.map((part) => part.trim()), ...rests.slice(newer.length, newer.length + 1)])];
}

/** The first of a list that is known; null = none is. */
export function knownSecret(list: string, isKnown: (secret: string) => boolean): string | null {
  return secretsOf(list, isKnown).find(isKnown) ?? null;
}
