import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { RouteHandlerMethod } from "fastify";
import type { RouteGroup } from "./server.ts";

const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

/** A file that pages load: its address contains its hash, so that browsers can cache it permanently. */
export type Asset = { path: string; type: string; body: Buffer };

/** Reads a file, or several that are joined in their order, of a folder; `under`: where it is served. */
export function readAsset(
  { folder, under }: { folder: string; under: string },
  name: string,
  files: readonly string[] = [name],
): Asset {
  const text = files.map((file) => readFileSync(join(folder, file), "utf8")).join("");
  const body = Buffer.from(name.endsWith(".css") ? compact(text) : text);
  const hash = createHash("sha256").update(body).digest("hex").slice(0, 12);
  const [stem = "", extension = ""] = name.split(".");
  return {
    path: `${under}/${stem}-${hash}.${extension}`,
    type: TYPES[extension] ?? "application/octet-stream",
    body,
  };
}

/** A style sheet without what only people read: comments and indentation. */
function compact(style: string): string {
  // oxlint-disable-next-line house/linear-patterns -- sees the style sheets of this project alone
  return style.replaceAll(/\/\*[^*]*\*+(?:[^/*][^*]*\*+)*\//gu, "").replaceAll(/\n\s+/gu, "\n");
}

export function assetRoute({ path, type, body }: Asset): RouteGroup {
  return getRoute(path, (_request, reply) =>
    reply.type(type).header("Cache-Control", "public, max-age=31536000, immutable").send(body),
  );
}

/** A path that only answers. */
export function getRoute(path: string, answer: RouteHandlerMethod): RouteGroup {
  return { path, allowedMethods: "GET, HEAD", register: (server) => void server.get(path, answer) };
}
