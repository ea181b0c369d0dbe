import type { FastifyInstance, FastifyReply } from "fastify";
import { readFileSync, readdirSync } from "node:fs";
import { join, posix } from "node:path";
import { JSON_TYPE } from "../contract/wire.ts";
import { html, renderHtml } from "../lib/html.ts";
import type { Html } from "../lib/html.ts";
import { plainText, readHead, renderMarkdown } from "./docs-markdown.ts";
import type { Head, Rendered } from "./docs-markdown.ts";
import { renderPage } from "./docs-page.ts";
import type { NavigationGroup, NavigationLink, Page } from "./docs-page.ts";
import { referenceNavigation, renderReference } from "./docs-reference.ts";
import { buildOpenApi } from "./openapi.ts";
import type { OpenApiDocument } from "./openapi.ts";

/** A section of a guide, or an endpoint, as the search of the pages finds it. */
type SearchEntry = { href: string; title: string; section: string; text: string };

/** Every section of the guides in reading order, then the endpoints of the reference. */
function buildSearchIndex(guides: readonly Guide[], endpoints: readonly NavigationLink[]): SearchEntry[] {
  return [
    ...guides.flatMap(({ path, title, render }) =>
      renderHtml(render().body)
        .split(/(?=<h2 id=")/u)
        .map((part) => {
          const id = /^<h2 id="([^"]+)"/u.exec(part)?.[1];
          const section = /^<h2[^>]*>(.*?)<\/h2>/su.exec(part)?.[1] ?? "";
          return {
            href: id === undefined ? path : `${path}#${id}`,
            title,
            section: plainText(section),
            text: plainText(withoutBlocks(part.replace(/^<h([12])[^>]*>.*?<\/h\1>/su, ""))),
          };
        }),
    ),
    ...endpoints.map(({ href, text }) => ({ href, title: "Reference", section: text, text: "" })),
  ];
}

/** Pictures and code say little out of their place. */
function withoutBlocks(markup: string): string {
  // oxlint-disable-next-line house/linear-patterns -- sees pages of the documentation alone
  return markup.replaceAll(/<(svg|pre)\b.*?<\/\1>/gsu, " ").replaceAll(/<\/t[dh]>/gu, " $&");
}

/** A file of the documentation; a page's `body` is rendered for the first request, since few processes are asked for all. */
type Document = { path: string; type: string; body: () => Buffer };

const HTML_TYPE = "text/html; charset=utf-8";
const TEXT_TYPE = "text/plain; charset=utf-8";
const MARKDOWN_TYPE = "text/markdown; charset=utf-8";

const ASSETS: Readonly<Record<string, string>> = {
  "style.css": "text/css; charset=utf-8",
  "reference.css": "text/css; charset=utf-8",
  "docs.js": "text/javascript; charset=utf-8",
  "search.js": "text/javascript; charset=utf-8",
  "icon.svg": "image/svg+xml",
};

/** The pages hold their pictures; these are for the guides as Markdown. */
const PICTURES_FOLDER = join(import.meta.dirname, "..", "..", "docs", "guides", "images");

/** Pages may load nothing from elsewhere, run nothing inline and not be framed. */
const PAGE_HEADERS = {
  "Content-Security-Policy":
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "Referrer-Policy": "no-referrer",
} as const;

/** Addresses that people type. The redirect of the root is temporary, because its target may change. */
const ROOT_REDIRECT = { path: "/", status: 302 };
const REDIRECTS = [{ path: "/docs/", status: 308 }];

/**
 * The documentation as surfaces of the server: /docs and its pages, /openapi.json, /llms.txt, and the ways that lead to
 * /docs. Each page is rendered once, when it is first asked for: all of them would take a quarter of a second of each start.
 * `notFoundPage` is what a browser gets at an unknown path; programs get an error in the API's form. Without a console, /
 * leads here too.
 */
export function createDocs({ hasConsole }: { hasConsole: boolean }) {
  const openApi = buildOpenApi();
  const guides = readGuides();
  const navigation = navigationOf(guides, openApi);
  const page = (path: string, own: () => Omit<Page, "navigation" | "path">): Document => ({
    path,
    type: HTML_TYPE,
    body: once(() => renderHtml(renderPage({ ...own(), path, navigation }))),
  });
  const surface = (path: string, answer: (reply: FastifyReply) => FastifyReply) => ({
    path,
    allowedMethods: "GET, HEAD",
    register: (server: FastifyInstance): void => {
      server.get(path, async (_request, reply) => answer(reply.headers(PAGE_HEADERS)));
    },
  });
  return {
    surfaces: [
      ...buildDocuments(guides, openApi, page).map(({ path, type, body }) =>
        surface(path, (reply) => reply.type(type).send(body())),
      ),
      ...[...REDIRECTS, ...(hasConsole ? [] : [ROOT_REDIRECT])].map(({ path, status }) =>
        surface(path, (reply) => reply.redirect("/docs", status)),
      ),
    ],
    notFoundPage: {
      headers: { ...PAGE_HEADERS, "Content-Type": HTML_TYPE },
      body: page("", () => NOT_FOUND).body(),
    },
  };
}

function buildDocuments(
  guides: readonly Guide[],
  openApi: OpenApiDocument,
  page: (path: string, own: () => Omit<Page, "navigation" | "path">) => Document,
): Document[] {
  const endpoints = referenceNavigation(openApi);
  return [
    { path: "/openapi.json", type: JSON_TYPE, body: once(() => JSON.stringify(openApi)) },
    { path: "/llms.txt", type: TEXT_TYPE, body: once(() => llmsText(guides)) },
    page("/docs", () => ({
      title: "Guides",
      description: "Guides and reference of the Returns Analytics API.",
      body: indexBody(guides),
      sections: [],
      layout: "guide",
    })),
    page("/docs/reference", () => ({
      title: "Reference",
      description: "Every endpoint, with a form to try it.",
      body: renderReference(openApi),
      sections: [],
      layout: "reference",
    })),
    {
      path: "/docs/assets/search.json",
      type: JSON_TYPE,
      body: once(() => JSON.stringify(buildSearchIndex(guides, endpoints))),
    },
    ...guides.flatMap((guide, index) => [
      page(guide.path, () => ({
        title: guide.title,
        description: guide.summary,
        body: html`<article>${guide.render().body}</article>`,
        sections: guide.render().sections,
        layout: "guide",
        previous: linkTo(guides[index - 1]) ?? { href: "/docs", text: "Guides" },
        next: linkTo(guides[index + 1]) ?? { href: "/docs/reference", text: "Reference" },
      })),
      { path: `${guide.path}.md`, type: MARKDOWN_TYPE, body: once(() => guide.markdown) },
    ]),
    ...Object.entries(ASSETS).map(([name, type]) =>
      fileOf(`/docs/assets/${name}`, type, join(import.meta.dirname, "docs", name)),
    ),
    ...readdirSync(PICTURES_FOLDER).map((name) =>
      fileOf(`/docs/images/${name}`, "image/svg+xml", join(PICTURES_FOLDER, name)),
    ),
  ];
}

/** A file that is sent as it is: read here, so that no request waits for the disk. */
function fileOf(path: string, type: string, file: string): Document {
  const body = readFileSync(file);
  return { path, type, body: () => body };
}

/** Makes a body for its first request, and keeps it. */
function once(make: () => string): () => Buffer {
  let body: Buffer | null = null;
  return () => (body ??= Buffer.from(make()));
}

const NOT_FOUND: Omit<Page, "navigation" | "path"> = {
  title: "Not found",
  description: "There is nothing at this address.",
  body: html`<h1>Not found</h1>
<p>There is nothing at this address. The guides begin at <a href="/docs">/docs</a>, the
<a href="/docs/reference">reference</a> lists every endpoint, and the API itself lies under <code>/api/v1/</code>.</p>`,
  sections: [],
  layout: "guide",
};

function linkTo(guide: Guide | undefined): NavigationLink | undefined {
  return guide === undefined ? undefined : { href: guide.path, text: guide.title };
}

function navigationOf(guides: readonly Guide[], openApi: OpenApiDocument): NavigationGroup[] {
  return [
    {
      title: "Guides",
      links: guides.map(({ path, title }) => ({ href: path, text: title })),
    },
    { title: "Reference", links: referenceNavigation(openApi) },
  ];
}

function indexBody(guides: readonly Guide[]): Html {
  const card = (href: string, title: string, text: string): Html =>
    html`<li><a href="${href}"><strong>${title}</strong><span>${text}</span></a></li>`;
  return html`<h1>Returns Analytics API</h1>
<p class="lead">Cohort return rates, monthly series, a deep report, leaderboards, alerts and a CSV export of one store: read-only,
over HTTP, with a bearer token.</p>
<pre tabindex="0"><code class="language-sh">curl -sS -H "Authorization: Bearer $TOKEN" \\
  "http://127.0.0.1:8080/api/v1/leaderboards/return-rate?period=month&amp;limit=3"</code></pre>
<h2>Guides</h2>
<ul class="cards">${guides.map(({ path, title, summary }) => card(path, title, summary))}</ul>
<h2>Reference</h2>
<ul class="cards">${card("/docs/reference", "Reference", "Every endpoint with its parameters, answers and refusals, and a form to try it with your token.")}
${card("/openapi.json", "OpenAPI 3.1", "The same as a document for client generators and tools.")}
${card("/llms.txt", "llms.txt", "An index of these pages in Markdown, for language models.")}</ul>`;
}

/** In the form of llmstxt.org: title, summary, lists of links. */
function llmsText(guides: readonly Guide[]): string {
  return [
    "# Returns Analytics API",
    "",
    "> A read-only HTTP API over one store's orders and returns: cohort return rates, monthly series, a report, leaderboards, alerts, CSV export. Bearer tokens with scopes; the same data over MCP.",
    "",
    "Months are order cohorts in UTC: a return counts in the month its order was placed in, if it came within the observation window. Months whose window is still open are left out unless include_incomplete=true.",
    "",
    "## Guides",
    "",
    ...guides.map(({ path, title, summary }) => `- [${title}](${path}.md): ${summary}`),
    "",
    "## API",
    "",
    "- [OpenAPI document](/openapi.json): every endpoint, parameter, answer and refusal, with examples",
    "- [Reference](/docs/reference): the same for people, with a form to try requests",
    "",
  ].join("\n");
}

/** A guide as it is served: as the Markdown it was written in, and rendered when it is first asked for. */
type Guide = Head & { path: string; file: string; markdown: string; render: () => Rendered };

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
function readGuides(): Guide[] {
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
