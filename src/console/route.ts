/** Values of a pattern's `:names` in a path, decoded; null: it does not match. */
export function matchPath(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern.split("/");
  const given = path.split("/");
  if (wanted.length !== given.length) return null;
  const held: Record<string, string> = {};
  for (const [index, segment] of wanted.entries()) {
    const text = given[index] as string;
    if (!segment.startsWith(":")) {
      if (segment !== text) return null;
      continue;
    }
    const value = decodeSegment(text);
    if (value === "") return null;
    held[segment.slice(1)] = value;
  }
  return held;
}

/** A path with the values of its `:names`. */
export function fillPath(pattern: string, held: Readonly<Record<string, string>>): string {
  return pattern.replaceAll(/:(\w+)/gu, (name, key: string) => {
    const value = held[key];
    return value === undefined ? name : encodeURIComponent(value);
  });
}

/** The first of places with a path that a given one matches, and what that holds; null = none. */
export function findByPath<Place extends { path: string }>(
  places: readonly Place[],
  path: string,
): { place: Place; held: Record<string, string> } | null {
  for (const place of places) {
    const held = matchPath(place.path, path);
    if (held !== null) return { place, held };
  }
  return null;
}

/** Invalid percent-encoded UTF-8, or a control character, matches nothing. */
export function decodeSegment(text: string): string {
  try {
    const decoded = decodeURIComponent(text);
    return /\p{Cc}/u.test(decoded) ? "" : decoded;
  } catch {
    return "";
  }
}
