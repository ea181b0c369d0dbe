import { parseQueryString } from "../http/query-string.ts";
import type { Page } from "./page.ts";
import { READABLE } from "./registry.ts";
import { findByPath } from "./route.ts";
import { pick } from "./selection.ts";

/** Parameters with the same meaning in every workspace: products differ between workspaces. */
const KEPT = ["start_month", "end_month", "window", "include_incomplete"];

/** The list of a person's workspaces, whose links lead to the current page in each. */
export function switchAddress(current: Page | null, address: string): string {
  // A page about one thing of this workspace has no counterpart.
  if (current === null || current.path.includes(":")) return "/w";
  const query = keptQuery(address);
  return `/w?page=${encodeURIComponent(`${current.path}${query === "" ? "" : `?${query}`}`)}`;
}

/** Below /w/<shop_domain>: the page from which the list was opened, if that path exists; else the overview. */
export function switchedPage(asked: unknown): string {
  if (typeof asked !== "string") return "";
  const [path = ""] = asked.split("?", 1);
  const found = findByPath(READABLE, path);
  if (found === null || found.place.path.includes(":")) return "";
  const query = keptQuery(asked);
  return `${found.place.path}${query === "" ? "" : `?${query}`}`;
}

function keptQuery(address: string): string {
  const { values } = parseQueryString(address);
  const given = Object.fromEntries([...values].map(([name, value]) => [name, String(value)]));
  const kept = Object.entries(pick(given, KEPT)).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return new URLSearchParams(kept).toString();
}
