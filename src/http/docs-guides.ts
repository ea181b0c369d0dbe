import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { readHead, renderMarkdown } from "./docs-markdown.ts";
import type { Head, Rendered } from "./docs-markdown.ts";

/** A guide as it is served: as the Markdown it was written in, and rendered when it is first asked for. */
export type Guide = Head & { path: string; file: string; markdown: string; render: () => Rendered };

const PROJECT_FOLDER = join(import.meta.dirname, "..", "..");

/** In reading order: the address under /docs/ and the file that holds it. */
const FILES: readonly (readonly [slug: string, file: string])[] = [
  ["console", "docs/guides/console.md"],
  ["getting-started", "docs/guides/getting-started.md"],
  ["your-data", "docs/guides/your-data.md"],
  ["numbers", "docs/guides/numbers.md"],
  ["pages", "docs/guides/pages.md"],
  ["errors", "docs/guides/errors.md"],
  ["export", "docs/guides/export.md"],
  ["moving", "docs/guides/moving.md"],
  ["alerts", "docs/guides/alerts.md"],
  ["early-warning", "docs/early-warning.md"],
  ["tokens", "docs/guides/tokens.md"],
  ["client", "docs/client.md"],
  ["mcp", "docs/mcp.md"],
];

/** Reads every guide; throws when one is missing. */
export function readGuides(): Guide[] {
  const paths = new Map(FILES.map(([slug, file]) => [file, `/docs/${slug}`]));
  return FILES.map(([slug, file]) => {
    const markdown = readProjectFile(file);
    let rendered: Rendered | null = null;
    const render = (): Rendered =>
      (rendered ??= renderMarkdown(markdown, {
        linkTo: (target) => addressOf(target, file, paths),
        picture: (target) => readProjectFile(posix.join(posix.dirname(file), target)),
      }));
    return { ...readHead(markdown), path: `/docs/${slug}`, file, markdown, render };
  });
}

/** Where a link of a guide leads on this service; null for a file of the project that is not served. */
function addressOf(target: string, file: string, paths: ReadonlyMap<string, string>): string | null {
  if (/^(https?:|#|\/)/u.test(target)) return target;
  const [relative = "", fragment] = target.split("#", 2);
  const named = posix.join(posix.dirname(file), relative);
  const path = named === "docs/api.md" ? "/docs/reference" : paths.get(named);
  if (path === undefined) return null;
  return fragment === undefined ? path : `${path}#${fragment}`;
}

function readProjectFile(file: string): string {
  return readFileSync(join(PROJECT_FOLDER, file), "utf8");
}
