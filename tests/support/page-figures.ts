/** One figure of a page, from its markup: the exact value, and its source. */
export type PageFigure = { from: string; value: string };

/** Every `<data>` of a page, in its order. */
export function dataFigures(page: string): PageFigure[] {
  return [...page.matchAll(/<data [^>]*?value="([^"]*)"\s+data-from="([^"]*)"/gu)].map(
    ([, value = "", from = ""]) => ({ value: unescaped(value), from: unescaped(from) }),
  );
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };

/** Text as it was before it was escaped. */
export function unescaped(markup: string): string {
  return markup.replaceAll(/&(amp|lt|gt|quot|#39);/gu, (_, name: string) => ENTITIES[name] ?? "");
}

/** What a page says, without its markup. */
export function wordsOf(page: string): string {
  return unescaped(page.replaceAll(/<[^>]+>/gu, " ")).replaceAll(/\s+/gu, " ");
}

/** The figures of the column "If saved" of a page that previews a setting, by name. */
export function previewIn(page: string): Record<string, string> {
  const found = page.matchAll(/<data value="([^"]*)" data-preview="([^"]*)">/gu);
  return Object.fromEntries([...found].map(([, value = "", name = ""]) => [name, value]));
}
