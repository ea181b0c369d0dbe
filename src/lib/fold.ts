/** Case- and accent-folded text for searching: NFKD, combining marks removed, lower case ("Crème" → "creme"). */
export function fold(text: string): string {
  return text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase();
}
