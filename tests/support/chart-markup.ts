/** The title of a chart, as markup. */
export function titleOf(markup: string): string {
  return /<p class="chart-title"[^>]*>(.*?)<\/p>/su.exec(markup)?.[1] ?? "";
}

/** The visible text of markup. */
export function textOf(markup: string): string {
  return markup
    .replaceAll(/<[^>]*>/gu, "")
    .replaceAll(/\s+/gu, " ")
    .trim();
}

/** The attributes of each element of a name. */
export function elements(markup: string, name: string): Partial<Record<string, string>>[] {
  return [...markup.matchAll(new RegExp(`<${name}\\b([^>]*)>`, "gu"))].map(([, attributes = ""]) =>
    Object.fromEntries(
      [...attributes.matchAll(/([\w-]+)="([^"]*)"/gu)].map(([, key = "", value = ""]) => [key, value]),
    ),
  );
}
