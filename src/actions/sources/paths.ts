/** Paths of the pages of sources, below /w/<shop_domain>. */
export const SOURCES_PATH = "/settings/sources";

export function sourcePath(source: string, below: "" | "/connect" | "/progress" | `/${string}` = ""): string {
  return `${SOURCES_PATH}/${source}${below}`;
}

/** Where files are uploaded. */
export const IMPORTS_PATH = "/settings/imports";
