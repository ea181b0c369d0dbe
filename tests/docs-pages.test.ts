import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { after, test } from "node:test";
import pino from "pino";
import { createDocs } from "../src/http/docs.ts";
import { createHttpMetrics } from "../src/http/metrics.ts";
import { createServer } from "../src/http/server.ts";

const root = dirname(import.meta.dirname);
const GUIDES = readdirSync(join(root, "docs", "guides")).filter((name) => name.endsWith(".md"));

const docs = createDocs({ hasConsole: false, clientPackage: () => Buffer.from("the client") });
const server = createServer({
  operations: [],
  routeGroups: docs.routeGroups,
  logger: pino({ level: "silent" }),
  metrics: createHttpMetrics(),
  notFoundPage: docs.notFoundPage,
  registerOperationsRoutes: null,
});
after(() => server.close());

const get = (url: string) => server.inject({ method: "GET", url });

test("every link of a page leads to an existing page and heading", async () => {
  const pages = new Map<string, string>();
  const links = new Set<string>();
  const open = ["/docs", "/llms.txt"];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (pages.has(path)) continue;
    const { statusCode, body } = await get(path);
    assert.equal(statusCode, 200, path);
    pages.set(path, body);
    const found = path.endsWith(".txt") ? /\]\(([^)]+)\)/gu : /(?:href|src)="([^"]+)"/gu;
    if (!/\.(?:md|svg|json|css|js)$/u.test(path)) {
      for (const [, link = ""] of body.matchAll(found)) {
        const full = link.startsWith("#") ? path + link : link;
        links.add(full);
        open.push(full.split("#", 1)[0] ?? "");
      }
    }
  }
  for (const link of links) {
    const [path = "", id] = link.split("#", 2);
    if (id !== undefined) assert.ok(pages.get(path)?.includes(`id="${id}"`), link);
  }
  assert.ok(pages.size >= 20 && links.size >= 60, `${pages.size} pages, ${links.size} links`);
});

test("a guide's links work in the repository too", () => {
  let checked = 0;
  for (const name of GUIDES) {
    const markdown = readFileSync(join(root, "docs", "guides", name), "utf8");
    for (const [, target = ""] of markdown.matchAll(/\]\(([^)#]+)[^)]*\)/gu)) {
      if (target.startsWith("/docs/reference")) continue;
      assert.ok(existsSync(join(root, posix.join("docs/guides", target))), `${name}: ${target}`);
      checked += 1;
    }
  }
  assert.ok(checked >= 4);
});

test("every guide is served as a page and as Markdown, whose links lead to what is served", async () => {
  let links = 0;
  for (const name of [...GUIDES, "api.md", "metrics.md", "changelog.md", "versioning.md", "connect.md"]) {
    const slug = name.replace(/\.md$/u, "");
    assert.equal((await get(`/docs/${slug}`)).headers["content-type"], "text/html; charset=utf-8");
    const twin = await get(`/docs/${slug}.md`);
    assert.equal(twin.headers["content-type"], "text/markdown; charset=utf-8");
    for (const [, target = ""] of twin.body.matchAll(/\]\(([^)\s#]*)[^)]*\)/gu)) {
      if (target === "" || target.startsWith("https:")) continue;
      assert.equal((await get(target)).statusCode, 200, `${slug}: ${target}`);
      links += 1;
    }
  }
  assert.ok(links > 20, `${links} links`);
  const words = (text: string): string => text.replaceAll(/\]\([^)]*\)|[[\]]/gu, "");
  const source = readFileSync(join(root, "docs", "guides", "tokens.md"), "utf8");
  assert.equal(words((await get("/docs/tokens.md")).body), words(source));
});

test("a page loads no external resources and has no inline code", async () => {
  for (const path of ["/docs", "/docs/reference", "/docs/numbers"]) {
    const { headers, body } = await get(path);
    assert.match(String(headers["content-security-policy"]), /^default-src 'self'; object-src 'none';/u);
    assert.doesNotMatch(String(headers["content-security-policy"]), /unsafe|https?:|\*/u);
    assert.doesNotMatch(body, /<script>|<style|\sstyle="|\son[a-z]+="/u, path);
    assert.doesNotMatch(body, /(?:src|href)="(?:https?:)?\/\//u, path);
  }
});

test("a page shows its pictures, with their alternative text", async () => {
  const pictures = { cohorts: "numbers", complete: "numbers", windows: "numbers", "early-warning": "alerts" };
  for (const [name, page] of Object.entries(pictures)) {
    const file = readFileSync(join(root, "docs", "guides", "images", `${name}.svg`), "utf8");
    const { headers, body } = await get(`/docs/images/${name}.svg`);
    assert.equal(headers["content-type"], "image/svg+xml");
    assert.equal(body, file);
    assert.match(
      (await get(`/docs/${page}`)).body,
      new RegExp(`<img src="/docs/images/${name}.svg" width="480" height="\\d+" alt="[^"]{20}`, "u"),
    );
  }
  assert.deepEqual(
    Object.keys(pictures).toSorted(),
    readdirSync(join(root, "docs", "guides", "images"))
      .map((name) => name.replace(/\.svg$/u, ""))
      .toSorted(),
  );
  const { body } = await get("/docs/numbers");
  assert.match(body, /alt="May is incomplete for the 30-day window until the end of June">/u);
});

test("documents have the common headers and state the allowed methods", async () => {
  for (const path of ["/docs", "/openapi.json", "/llms.txt", "/docs/assets/search.json"]) {
    const head = await server.inject({ method: "HEAD", url: path });
    assert.equal(head.statusCode, 200, path);
    assert.equal(head.body, "");
    assert.equal(head.headers["cdn-cache-control"], "no-store");
    assert.equal(head.headers["x-returns-api-version"], "2026-07-05");
    const refused = await server.inject({ method: "POST", url: path });
    assert.equal(refused.statusCode, 405, path);
    assert.equal(refused.headers.allow, "GET, HEAD");
    assert.equal(refused.json<{ error: { code: string } }>().error.code, "invalid_request");
  }
});

test("the root and /docs/ redirect to /docs, with the common headers", async () => {
  for (const [path, status] of [
    ["/", 302],
    ["/docs/", 308],
  ] as const) {
    for (const method of ["GET", "HEAD"] as const) {
      const answer = await server.inject({ method, url: path });
      assert.equal(answer.statusCode, status, path);
      assert.equal(answer.headers.location, "/docs");
      assert.equal(answer.headers["cdn-cache-control"], "no-store");
      assert.equal(answer.headers["x-returns-api-version"], "2026-07-05");
    }
    const refused = await server.inject({ method: "POST", url: path });
    assert.equal(refused.statusCode, 405, path);
    assert.equal(refused.headers.allow, "GET, HEAD");
  }
});

test("a member that a selector's variants share is listed with each of its values", async () => {
  const { body } = await get("/docs/reference");
  const types = [
    ...body.matchAll(/<dt><code>meta\.selector\.type<\/code> <span class="facts">(.*?)<\/span>/gu),
  ].map(([, type]) => type);
  assert.ok(types.length >= 3, `${types.length} fields`);
  for (const type of types) {
    assert.equal(type?.replaceAll("&quot;", '"'), '"workspace" or "sku" or "product" or "product_group"');
  }
});

test("any other path is a 404 in the API's format", async () => {
  for (const path of [
    "/docs/nothing",
    "/docs//",
    "/docs/reference/",
    "/docs/assets/../docs.ts",
    "/docs/assets/",
    "/docs/assets/%2e%2e/docs.ts",
  ]) {
    const answer = await get(path);
    assert.equal(answer.statusCode, 404, path);
    assert.equal(answer.json<{ error: { code: string } }>().error.code, "not_found");
  }
});

test("a browser gets a 404 page, except at the API's own paths", async () => {
  const accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
  const ask = (url: string) => server.inject({ method: "GET", url, headers: { accept } });
  for (const path of ["/nothing", "/docs/nothing", "/apian"]) {
    const { statusCode, headers, body } = await ask(path);
    assert.equal(statusCode, 404, path);
    assert.equal(headers["content-type"], "text/html; charset=utf-8");
    assert.match(String(headers["content-security-policy"]), /^default-src 'self';/u);
    assert.match(body, /<h1>Not found<\/h1>[^]+href="\/docs\/reference"/u);
    assert.equal((await get(path)).json<{ error: { code: string } }>().error.code, "not_found");
  }
  for (const path of ["/api", "/api/v1/nothing"]) {
    assert.equal((await ask(path)).json<{ error: { code: string } }>().error.code, "not_found", path);
  }
  const other = await server.inject({ method: "POST", url: "/docs", headers: { accept } });
  assert.equal(other.json<{ error: { code: string } }>().error.code, "invalid_request");
});

test("each guide links to the previous and the next one, in reading order", async () => {
  const walked: string[] = [];
  for (let path: string | undefined = "/docs/getting-started"; path !== undefined;) {
    const { body } = await get(path);
    const [previous, next] = ["prev", "next"].map(
      (relation) => new RegExp(`<a href="([^"]+)" rel="${relation}">`, "u").exec(body)?.[1],
    );
    if (path !== "/docs/reference") assert.equal(previous, walked.at(-1) ?? "/docs", path);
    walked.push(path);
    path = next;
  }
  assert.equal(walked.at(-1), "/docs/reference");
  assert.equal(walked.length, GUIDES.length + 10);
});

test("the search index has every section of the guides, under an existing address", async () => {
  const { headers, body } = await get("/docs/assets/search.json");
  assert.equal(headers["content-type"], "application/json; charset=utf-8");
  const entries = JSON.parse(body) as { href: string; title: string; section: string; text: string }[];
  for (const { href, title, text } of entries) {
    const [path = "", id] = href.split("#", 2);
    const page = await get(path);
    assert.equal(page.statusCode, 200, href);
    if (id !== undefined) assert.ok(page.body.includes(`id="${id}"`), href);
    assert.ok(title !== "" && !/<\/?(?:a|code|h2|p|svg|td)\b/u.test(text), href);
  }
  const section = entries.find(({ href }) => href === "/docs/numbers#complete-months");
  assert.match(section?.text ?? "", /^A month is complete when the window of its last order has passed/u);
  const table = entries.find(({ href }) => href === "/docs/errors#errors")?.text ?? "";
  assert.match(table, / 401 unauthorized check the token: /u);
  assert.ok(entries.length > 40, `${entries.length} entries`);
});

test("/openapi.json is the released document", async () => {
  const { headers, body } = await get("/openapi.json");
  assert.equal(headers["content-type"], "application/json; charset=utf-8");
  const agreed = JSON.parse(readFileSync(join(root, "tests", "openapi.snapshot.json"), "utf8")) as unknown;
  assert.deepEqual(JSON.parse(body), agreed);
});

test("/llms.txt has a title, a summary and lists of links", async () => {
  const { headers, body } = await get("/llms.txt");
  assert.equal(headers["content-type"], "text/plain; charset=utf-8");
  assert.match(
    body,
    /^# .+\n\n> .+\n\n.+\n\n## .+\n\n(?:- \[.+\]\(.+\): .+\n)+\n## .+\n\n(?:- \[.+\]\(.+\): .+\n)+$/u,
  );
});
