import { readFileSync, readdirSync } from "node:fs";
import { join, posix } from "node:path";
import type { FastifyReply } from "fastify";
import { filledPath, pathNames } from "../contract/endpoint.ts";
import { JSON_TYPE } from "../contract/wire.ts";
import { curlPostText, curlText } from "../contract/written-request.ts";
import { html, renderHtml, type Html } from "../lib/html.ts";
import type { DocsLink, DocsPage, Rendered } from "./docs-markdown.ts";
import {
  plainText,
  readHead,
  renderMarkdown,
  codeBlock,
  renderDescription,
  withAddresses,
  tableBlock,
  DOCS_ASSETS,
  REFERENCE_PATH,
  renderPage,
} from "./docs-markdown.ts";
import { assetRoute, getRoute } from "./assets.ts";
import type { JsonSchema } from "./openapi-schemas.ts";
import { buildOpenApi, type OpenApiDocument } from "./openapi.ts";

type Example = { schema: JsonSchema; example?: unknown; examples?: Record<string, { value: unknown }> };
type Answer = { $ref?: string; description?: string; content?: Record<string, Example> };
type Parameter = {
  name: string;
  required: boolean;
  description: string;
  schema: JsonSchema & { default?: string | number | boolean; minimum?: number; maximum?: number };
  example?: string | number | boolean;
};
type Operation = {
  operationId: string;
  summary: string;
  description: string;
  parameters?: Parameter[];
  requestBody?: { content: Record<string, Example> };
  responses: Record<string, Answer>;
};
/** The pages' script replaces it with the service's own address. */
const EXAMPLE_ADDRESS = "http://127.0.0.1:8080";

/** Where npm installs the client from. */
const CLIENT_PATH = "/docs/client.tgz";

type Place = { path: string; method: string; operation: Operation };

/** The reference's contents, by tag in the order in which the contract names them. */
function referenceNavigation(document: OpenApiDocument): DocsLink[] {
  return placesOf(document).map(({ path, operation }) => ({
    href: `/docs/reference#${operation.operationId}`,
    text: path.replace("/api/v1", ""),
  }));
}

/** The body of the reference page: every operation with a form that sends it. */
function renderReference(document: OpenApiDocument): Html {
  return html`<h1>Reference</h1>
<div class="lead">${renderDescription(document.info.description)}</div>
<form id="access" class="access" autocomplete="off">
<label for="token">Token for trying requests</label>
<input id="token" type="password" placeholder="rta_live_…" spellcheck="false" autocomplete="off">
<p>It stays on this page, is sent to this service only, and is forgotten when you leave. Each request counts against the daily quota.</p>
</form>
<noscript><p class="note">Trying requests needs JavaScript; everything else on this page does not.</p></noscript>
${placesOf(document).map((place) => renderOperation(place, document))}`;
}

function placesOf(document: OpenApiDocument): Place[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      operation: operation as unknown as Operation,
    })),
  );
}

function renderOperation({ path, method, operation }: Place, document: OpenApiDocument): Html {
  const { operationId, summary, description, parameters, responses } = operation;
  const answer = responses["200"] ?? {};
  return html`<section class="operation" id="${operationId}" aria-labelledby="${operationId}-title">
<h2 id="${operationId}-title"><a class="anchor" href="#${operationId}">${summary}</a></h2>
<p class="endpoint"><span class="method">${method}</span> <code>${path}</code></p>
<div class="columns">
<div class="words">${renderDescription(description)}${parameters && renderForm(path, operationId, parameters)}
${renderFields(answer, document)}
${renderRefusals(responses, document)}
</div>
${renderPanel({ path, method, operation }, answer)}
</div>
</section>`;
}

function renderForm(path: string, operationId: string, parameters: readonly Parameter[]): Html {
  return html`<form class="try" data-path="${path}" novalidate>
<h3>Parameters</h3>
${parameters.map((parameter) => renderParameter(operationId, parameter))}
<p class="actions"><button type="submit">Send request</button><button type="reset" class="quiet">Reset</button></p>
<p class="note missing" role="status" hidden>A request needs a token: enter yours in <a href="#token">the field at the top of this page</a>, then send it again.</p>
</form>`;
}

function renderParameter(operationId: string, parameter: Parameter): Html {
  const { name, required, description, schema } = parameter;
  const id = `${operationId}-${name}`;
  const facts = [
    typeWords([schema.enum === undefined ? schema : { type: "string" }]).join(" or "),
    ...(required ? ["required"] : []),
    ...(schema.default === undefined ? [] : [`default ${String(schema.default)}`]),
    ...boundsOf(schema),
  ];
  return html`<div class="parameter">
<div><label for="${id}"><code>${name}</code></label> <span class="facts">${facts.join(" · ")}</span>
<p id="${id}-about">${description}</p></div>
${renderInput(id, parameter)}
</div>`;
}

function boundsOf({ minimum, maximum }: Parameter["schema"]): string[] {
  if (minimum === undefined) return [];
  return maximum === undefined || maximum === Number.MAX_SAFE_INTEGER
    ? [`at least ${minimum}`]
    : [`${minimum} to ${maximum}`];
}

function renderInput(id: string, { name, required, schema, example }: Parameter): Html {
  const choices = schema.enum ?? (schema.type === "boolean" ? [true, false] : null);
  const given = example === undefined ? "" : String(example);
  if (choices === null) {
    return html`<input id="${id}" name="${name}" aria-describedby="${id}-about"${required && html` required`} value="${given}" autocomplete="off" spellcheck="false">`;
  }
  const option = (value: string, text = value): Html =>
    html`<option value="${value}"${value === given && html` selected`}>${text}</option>`;
  const options = choices.map((choice) => option(String(choice)));
  return html`<select id="${id}" name="${name}" aria-describedby="${id}-about"${required && html` required`}>${option("", "—")}${options}</select>`;
}

/** The request as a shell would send it, and below it the answer: the example until a request was sent. */
function renderPanel(place: Place, answer: Answer): Html {
  const [media] = Object.values(answer.content ?? {});
  // A new endpoint has none until a test has written it down.
  const example = media?.example ?? null;
  const isText = typeof example === "string";
  const shown = isText ? example.replaceAll("\r\n", "\n") : JSON.stringify(example, null, 2);
  return html`<div class="panel">
<h3>Request</h3>
<div class="request">${codeBlock(requestText(place), "sh")}</div>
<h3 class="outcome" aria-live="polite">Example answer</h3>
<div class="answer">${codeBlock(shown, isText ? "csv" : "json")}</div>
</div>`;
}

function requestText({ path, method, operation }: Place): string {
  if (method === "POST") {
    const { examples } = operation.requestBody?.content["application/json"] ?? {};
    return curlPostText(EXAMPLE_ADDRESS, path, Object.values(examples ?? {})[0]?.value);
  }
  const given = (operation.parameters ?? []).flatMap(({ name, example }) =>
    example === undefined ? [] : [[name, example] as const],
  );
  const ofPath = pathNames(path);
  return curlText(
    EXAMPLE_ADDRESS,
    filledPath(path, Object.fromEntries(given)),
    given.filter(([name]) => !ofPath.includes(name)),
  );
}

function renderFields(answer: Answer, document: OpenApiDocument): Html | null {
  const schema = answer.content?.["application/json"]?.schema;
  if (schema === undefined) return null;
  const fields = listFields(schema, document.components["schemas"] ?? {}).map(
    ({ name, types, description }) =>
      html`<dt><code>${name}</code> <span class="facts">${types.join(" or ")}</span></dt><dd>${description}</dd>`,
  );
  return html`<details><summary>Fields of the answer</summary><dl class="fields">${fields}</dl></details>`;
}

function renderRefusals(responses: Readonly<Record<string, Answer>>, document: OpenApiDocument): Html {
  const rows = Object.entries(responses)
    .filter(([status]) => status !== "200")
    .map(([status, response]) => {
      const name = response.$ref?.split("/").at(-1) ?? "";
      const { description = "" } =
        (document.components["responses"]?.[name] as Answer | undefined) ?? response;
      return html`<tr><td>${status}</td><td>${renderDescription(description)}</td></tr>`;
    });
  const head = html`<tr><th>Status</th><th>When</th></tr>`;
  return html`<details><summary>Other answers</summary>${tableBlock(head, rows)}</details>`;
}

/** A field of an answer by its full name, such as `data.rows[].sku`, with the words of its type: variants that share it add up. */
type Field = { name: string; types: string[]; description: string };

type Schema = JsonSchema & { $ref?: string; oneOf?: Schema[]; const?: unknown; format?: string };

/** Every field of an answer's schema in reading order, references followed. */
function listFields(schema: JsonSchema, components: Readonly<Record<string, unknown>>): Field[] {
  const resolve = (given: Schema): Schema => {
    const name = given.$ref?.split("/").at(-1);
    if (name === undefined) return given;
    // A reference's own description is more specific than that of its target.
    return {
      ...(components[name] as Schema),
      ...(given.description === undefined ? {} : { description: given.description }),
    };
  };
  const visit = (given: Schema, name: string): Field[] => {
    const resolved = resolve(given);
    const variants = (resolved.oneOf ?? [resolved]).map(resolve);
    const own = { name, types: typeWords(variants), description: resolved.description ?? "" };
    const inner = mergeShared(variants.flatMap((variant) => innerFields(variant, name, visit)));
    return name === "" ? inner : [own, ...inner];
  };
  return visit(schema, "");
}

/** The variants of a selector share members: each is listed once, with what every variant makes of it. */
function mergeShared(fields: readonly Field[]): Field[] {
  const merged = new Map<string, Field>();
  for (const field of fields) {
    const types = [...(merged.get(field.name)?.types ?? []), ...field.types];
    merged.set(field.name, { ...field, ...merged.get(field.name), types: [...new Set(types)] });
  }
  return [...merged.values()];
}

function innerFields(
  schema: Schema,
  name: string,
  visit: (schema: Schema, name: string) => Field[],
): Field[] {
  if (schema.items !== undefined) {
    const [, ...fields] = visit(schema.items, `${name}[]`);
    return fields;
  }
  const prefix = name === "" ? "" : `${name}.`;
  return Object.entries(schema.properties ?? {}).flatMap(([member, property]) =>
    visit(property, `${prefix}${member}`),
  );
}

/** A schema's type in a few words, such as `integer`, `null` or `"month"`, of each of its variants. */
function typeWords(variants: readonly Schema[]): string[] {
  const words = variants.flatMap((schema) => {
    if (schema.const !== undefined) return [JSON.stringify(schema.const)];
    if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value));
    const types = [schema.type ?? "any"].flat();
    return types.map((type) => namedType(type, schema));
  });
  return [...new Set(words)];
}

function namedType(type: string, { format, items }: Schema): string {
  if (type === "string" && format !== undefined) return format;
  if (type === "array")
    return items?.type === undefined || items.type === "object" ? "list" : `list of ${String(items.type)}s`;
  return type;
}

/** Every section of the guides in reading order, then the endpoints of the reference, as the search of the pages finds them. */
function searchIndex(guides: readonly Guide[], endpoints: readonly DocsLink[]) {
  const sections = guides.flatMap(({ href, text: title, rendered }) => {
    const { body, sections: headings } = rendered();
    const parts = renderHtml(body).split(/(?=<h2 id=")/u);
    return parts.map((part, index) => {
      const { id, text: section } = headings[index - 1] ?? { id: "", text: "" };
      const [, below = ""] = part.split(/<\/h[12]>/u, 2);
      const text = plainText(withoutBlocks(below));
      return { href: id === "" ? href : `${href}#${id}`, title, section, text };
    });
  });
  const operations = endpoints.map(({ href, text }) => ({
    href,
    title: "Reference",
    section: text,
    text: "",
  }));
  return [...sections, ...operations];
}

/** Code says little out of context. */
function withoutBlocks(markup: string): string {
  // oxlint-disable-next-line house/linear-patterns -- sees pages of the documentation alone
  return markup.replaceAll(/<pre\b.*?<\/pre>/gsu, " ").replaceAll(/<\/t[dh]>/gu, " $&");
}

/** A file of the documentation; `policy`: what it may load, where that differs from a page. */
type Document = { path: string; type: string; make: () => string | Buffer; policy?: string };

const HTML_TYPE = "text/html; charset=utf-8";
const TEXT_TYPE = "text/plain; charset=utf-8";
const MARKDOWN_TYPE = "text/markdown; charset=utf-8";

const PICTURES = "docs/guides/images";

/** Pages may load nothing from elsewhere, run nothing inline and not be framed. */
const PAGE_POLICY =
  "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const PAGE_HEADERS = { "Content-Security-Policy": PAGE_POLICY, "Referrer-Policy": "no-referrer" };

/** `clientPackage` makes the file that `npm install` takes. */
type DocsOptions = { hasConsole: boolean; clientPackage: () => Buffer };

/**
 * The routes of the documentation: /docs and its pages, /openapi.json, /llms.txt, and redirects to /docs, without a console from /
 * too. A page is rendered once, at its first request: all of them would take a quarter of a second of each start. `notFoundPage`
 * is for a browser at an unknown path; programs get an error in the API's form.
 */
export function createDocs({ hasConsole, clientPackage }: DocsOptions) {
  const openApi = once(buildOpenApi);
  const files = FILES.map(readGuide);
  const guides = once(() => files.map(({ guide }) => guide()));
  const endpoints = once(() => referenceNavigation(openApi()));
  const navigation = once(() => [
    { title: "Guides", links: guides() },
    { title: "Reference", links: endpoints() },
  ]);
  const page = (path: string, own: () => Omit<DocsPage, "navigation" | "path">): Document => ({
    path,
    type: HTML_TYPE,
    make: () => renderHtml(renderPage({ ...own(), path, navigation: navigation() })),
  });
  const documents: Document[] = [
    { path: "/openapi.json", type: JSON_TYPE, make: () => JSON.stringify(openApi()) },
    { path: "/llms.txt", type: TEXT_TYPE, make: () => llmsText(guides()) },
    { path: CLIENT_PATH, type: "application/gzip", make: clientPackage },
    {
      path: "/docs/assets/search.json",
      type: JSON_TYPE,
      make: () => JSON.stringify(searchIndex(guides(), endpoints())),
    },
    page(INDEX.href, () => ({
      title: "Guides",
      description: "Guides and reference of the Returns Analytics API.",
      body: indexBody(guides()),
    })),
    page(REFERENCE.href, () => ({
      title: "Reference",
      description: "Every endpoint, with a form to try it.",
      body: renderReference(openApi()),
    })),
    ...files.flatMap(({ href, guide }, index) => [
      page(href, () => {
        const { text: title, summary: description, rendered } = guide();
        const [previous, next] = [guides()[index - 1] ?? INDEX, guides()[index + 1] ?? REFERENCE];
        const { body, sections } = rendered();
        return { title, description, body: html`<article>${body}</article>`, sections, previous, next };
      }),
      { path: `${href}.md`, type: MARKDOWN_TYPE, make: () => guide().asMarkdown() },
    ]),
    ...readdirSync(join(PROJECT_FOLDER, PICTURES)).map((name) => {
      // Read here, so that no request waits for the disk.
      const picture = readProjectFile(`${PICTURES}/${name}`);
      const policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
      return { path: `/docs/images/${name}`, type: "image/svg+xml", make: () => picture, policy };
    }),
  ];
  const route = (path: string, answer: (reply: FastifyReply) => FastifyReply) =>
    getRoute(path, (_request, reply) => answer(reply.headers(PAGE_HEADERS)));
  return {
    routeGroups: [
      ...documents.map(({ path, type, make, policy = PAGE_POLICY }) => {
        const body = once(() => Buffer.from(make() as string));
        return route(path, (reply) =>
          reply.type(type).header("Content-Security-Policy", policy).send(body()),
        );
      }),
      ...DOCS_ASSETS.map(assetRoute),
      // Addresses that people type. The redirect of the root is temporary, because its target may change.
      route("/docs/", (reply) => reply.redirect(INDEX.href, 308)),
      ...(hasConsole ? [] : [route("/", (reply) => reply.redirect(INDEX.href, 302))]),
    ],
    notFoundPage: {
      headers: { ...PAGE_HEADERS, "Content-Type": HTML_TYPE },
      body: once(() =>
        Buffer.from(renderHtml(renderPage({ ...NOT_FOUND, path: "", navigation: navigation() }))),
      ),
    },
  };
}

const INDEX: DocsLink = { href: "/docs", text: "Guides" };
const REFERENCE: DocsLink = { href: REFERENCE_PATH, text: "Reference" };

/** Makes a value for its first use, and keeps it: few processes serve all documents. */
function once<Value>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => (made ??= make());
}

const NOT_FOUND = {
  title: "Not found",
  description: "There is nothing at this address.",
  body: html`<h1>Not found</h1>
<p>There is nothing at this address. The guides begin at <a href="/docs">/docs</a>, the
<a href="/docs/reference">reference</a> lists every endpoint, and the API itself is under <code>/api/v1/</code>.</p>`,
};

function indexBody(guides: readonly Guide[]): Html {
  const card = (href: string, title: string, text: string): Html =>
    html`<li><a href="${href}"><strong>${title}</strong><span>${text}</span></a></li>`;
  return html`<h1>Returns Analytics API</h1>
<p class="lead">Cohort return rates, monthly series, a deep report, leaderboards, alerts and a CSV export of one store: read-only,
over HTTP, with a bearer token.</p>
<pre tabindex="0"><code class="language-sh">curl -sS -H "Authorization: Bearer $TOKEN" \\
  "http://127.0.0.1:8080/api/v1/leaderboards/return-rate?period=month&amp;limit=3"</code></pre>
<h2>Guides</h2>
<ul class="cards">${guides.map(({ href, text, summary }) => card(href, text, summary))}</ul>
<h2>Reference</h2>
<ul class="cards">${card("/docs/reference", "Reference", "Every endpoint with its parameters, answers and refusals, and a form to try it with your token.")}
${card("/openapi.json", "OpenAPI 3.1", "The same as a document for client generators and tools.")}
${card(CLIENT_PATH, "JavaScript client", "The package that npm install takes from this address; it also queries from a shell.")}
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
    ...guides.map(({ href, text, summary }) => `- [${text}](${href}.md): ${summary}`),
    "",
    "## API",
    "",
    "- [OpenAPI document](/openapi.json): every endpoint, parameter, answer and refusal, with examples",
    "- [Reference](/docs/reference): the same for people, with a form to try requests",
    `- [JavaScript client](${CLIENT_PATH}): a typed package, installed by \`npm install <this service>${CLIENT_PATH}\`; \`npx --yes <this service>${CLIENT_PATH} summary --start-month 2026-01 --end-month 2026-06\` queries from a shell, with the token in RETURNS_TOKEN`,
    "",
  ].join("\n");
}

/** A served guide: its title, its first sentence as plain text, its Markdown with this service's addresses, and rendered. */
type Guide = DocsLink & { summary: string; asMarkdown: () => string; rendered: () => Rendered };

const PROJECT_FOLDER = join(import.meta.dirname, "..", "..");

/** In reading order. */
const FILES: readonly string[] = [
  "docs/guides/getting-started.md",
  "docs/guides/console.md",
  "docs/guides/your-data.md",
  "docs/import-format.md",
  "docs/connect.md",
  "docs/guides/numbers.md",
  "docs/guides/pages.md",
  "docs/guides/errors.md",
  "docs/guides/export.md",
  "docs/guides/warehouse.md",
  "docs/guides/moving.md",
  "docs/guides/alerts.md",
  "docs/early-warning.md",
  "docs/guides/tokens.md",
  "docs/client.md",
  "docs/mcp.md",
  "docs/api.md",
  "METRICS.md",
  "docs/versioning.md",
  "CHANGELOG.md",
];

/** A guide by its address, read from its text when it is first asked for. Throws when the file is missing. */
function readGuide(file: string): { href: string; guide: () => Guide } {
  const markdown = readProjectFile(file);
  const href = guidePath(file);
  const linkTo = (target: string) => addressOf(target, file);
  const sizeOf = (target: string) => {
    const picture = readProjectFile(posix.join(posix.dirname(file), target));
    return /viewBox="0 0 (?<width>\d+) (?<height>\d+)"/u.exec(picture)?.groups ?? {};
  };
  const guide = once(() => ({
    ...readHead(markdown),
    href,
    asMarkdown: () => withAddresses(markdown, linkTo),
    rendered: once(() => renderMarkdown(markdown, linkTo, sizeOf)),
  }));
  return { href, guide };
}

function guidePath(file: string): string {
  return `/docs/${posix.basename(file, ".md").toLowerCase()}`;
}

/** Where a link of a guide leads on this service; null for a file of the project that is not served. */
function addressOf(target: string, file: string): string | null {
  if (/^(https?:|#|\/)/u.test(target)) return target;
  const [relative = "", fragment] = target.split("#", 2);
  const named = posix.join(posix.dirname(file), relative);
  if (posix.dirname(named) === PICTURES) return `/docs/images/${posix.basename(named)}`;
  if (!FILES.includes(named)) return null;
  return fragment === undefined ? guidePath(named) : `${guidePath(named)}#${fragment}`;
}

function readProjectFile(file: string): string {
  return readFileSync(join(PROJECT_FOLDER, file), "utf8");
}
