import { lexer, type MarkedToken, type Token, type Tokens } from "marked";
import { html, renderHtml, unescapeHtml, type Html, type HtmlValue } from "../lib/html.ts";
import { join } from "node:path";
import { API_VERSION } from "../contract/endpoint.ts";
import { readAsset } from "./assets.ts";

export type Rendered = {
  body: Html;
  /** Headings of the second level. */
  sections: { id: string; text: string }[];
};

/** The address of a link's target; null: not served, and only its text is shown. */
type LinkTo = (target: string) => string | null;
/** Width and height of a picture, so that the page does not move when it arrives. */
type SizeOf = (target: string) => { width?: string; height?: string };

/** Renders a Markdown document of this project; throws if it contains anything that the pages do not support, such as HTML. */
export function renderMarkdown(markdown: string, linkTo: LinkTo, sizeOf: SizeOf): Rendered {
  const tokens = lexer(markdown);
  const render = renderer(linkTo, sizeOf);
  const headings = tokens.filter((token) => token.type === "heading") as Tokens.Heading[];
  return {
    body: html`${render(tokens)}`,
    sections: headings
      .filter(({ depth }) => depth === 2)
      .map((token) => ({ id: headingId(token.text), text: wordsOf(token) })),
  };
}

/** In this project's documents no link holds brackets, and no code looks like one. */
const LINK = /(!?\[([^[\]]*)\])\(([^()[\]\s]+)\)/gu;

/** The same Markdown with this service's addresses for its links; links to documents that are not served become text. */
export function withAddresses(markdown: string, linkTo: LinkTo): string {
  return markdown.replaceAll(LINK, (_link, label: string, text: string, target: string) => {
    const address = linkTo(target);
    return address === null ? text : `${label}(${address})`;
  });
}

/** The first heading and sentence, as plain text. Reads only the start of a document: far faster than all of it. */
export function readHead(markdown: string): { text: string; summary: string } {
  const tokens = lexer(markdown.split("\n\n", 2).join("\n\n"));
  const first = tokens.find((token) => token.type === "heading") as Tokens.Heading | undefined;
  const paragraph = tokens.find((token) => token.type === "paragraph") as Tokens.Paragraph | undefined;
  return { text: wordsOf(first), summary: firstSentence(wordsOf(paragraph)) };
}

function wordsOf(token: Tokens.Heading | Tokens.Paragraph | undefined): string {
  const render = renderer(() => null);
  return plainText(renderHtml(html`${render(token?.tokens ?? [])}`));
}

/** A short description in Markdown, such as the contract's. */
export function renderDescription(markdown: string): Html {
  return html`${renderer((target) => target)(lexer(markdown))}`;
}

/** A code block that keyboards can scroll. */
export function codeBlock(text: string, language: string): Html {
  return html`<pre tabindex="0"><code${language !== "" && html` class="language-${language}"`}>${text}</code></pre>`;
}

/** A table that scrolls by itself where the page is narrow. */
export function tableBlock(head: HtmlValue, rows: HtmlValue): Html {
  return html`<div class="table" tabindex="0"><table><thead>${head}</thead><tbody>${rows}</tbody></table></div>\n`;
}

type Render = (tokens: readonly Token[]) => Html[];

function renderer(linkTo: LinkTo, sizeOf: SizeOf = () => ({})): Render {
  const render: Render = (tokens) => tokens.map((token) => renderToken(token as MarkedToken));
  const renderToken = (token: MarkedToken): Html => {
    switch (token.type) {
      case "heading":
        return heading(token.depth, headingId(token.text), render(token.tokens));
      case "paragraph":
        return html`<p>${render(token.tokens)}</p>\n`;
      case "code":
        return html`${codeBlock(token.text, token.lang ?? "")}\n`;
      case "table":
        return table(token, render);
      case "list":
        return list(token, render);
      case "strong":
        return html`<strong>${render(token.tokens)}</strong>`;
      case "em":
        return html`<em>${render(token.tokens)}</em>`;
      case "codespan":
        return html`<code>${token.text}</code>`;
      case "link": {
        const address = linkTo(token.href);
        const inner = html`${render(token.tokens)}`;
        return address === null ? inner : html`<a href="${address}">${inner}</a>`;
      }
      case "image": {
        const { width, height } = sizeOf(token.href);
        return html`<span class="picture"><img src="${linkTo(token.href)}" width="${width}" height="${height}" alt="${token.text}"></span>`;
      }
      case "text":
      case "escape":
        return html`${"tokens" in token && token.tokens !== undefined ? render(token.tokens) : token.text}`;
      case "space":
        return html``;
      default:
        throw new Error(`The pages do not show this kind of Markdown (${token.type}): ${token.raw}`);
    }
  };
  return render;
}

function heading(depth: number, id: string, words: HtmlValue): Html {
  if (depth === 1) return html`<h1>${words}</h1>\n`;
  const anchor = html`<a class="anchor" href="#${id}">${words}</a>`;
  return depth === 2 ? html`<h2 id="${id}">${anchor}</h2>\n` : html`<h3 id="${id}">${anchor}</h3>\n`;
}

function table({ header, rows }: Tokens.Table, render: Render): Html {
  const head = html`<tr>${header.map(({ tokens }) => html`<th>${render(tokens)}</th>`)}</tr>`;
  const row = (cells: Tokens.TableCell[]): Html =>
    html`<tr>${cells.map(({ tokens }) => html`<td>${render(tokens)}</td>`)}</tr>\n`;
  return tableBlock(head, rows.map(row));
}

function list({ ordered, items }: Tokens.List, render: Render): Html {
  const inner = items.map(({ tokens }) => html`<li>${render(tokens)}</li>\n`);
  return ordered ? html`<ol>\n${inner}</ol>\n` : html`<ul>\n${inner}</ul>\n`;
}

/** The id of a heading, as links in Markdown write it: lower case, hyphens for blanks, no punctuation. */
function headingId(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s+/gu, "-");
}

function firstSentence(text: string): string {
  return /^.*?[.!?](?=\s|$)/u.exec(text)?.[0] ?? text;
}

export function plainText(markup: string): string {
  return unescapeHtml(markup.replaceAll(/<[^<>]*>/gu, ""))
    .replaceAll(/\s+/gu, " ")
    .trim();
}

export type DocsLink = { href: string; text: string };

/** Its pages have a layout of their own. */
export const REFERENCE_PATH = "/docs/reference";

export type DocsPage = {
  path: string;
  title: string;
  /** For search engines and previews, one sentence. */
  description: string;
  navigation: readonly { title: string; links: readonly DocsLink[] }[];
  body: Html;
  /** Headings for the page's table of contents. */
  sections?: Rendered["sections"];
  /** The previous and next pages, at its end. */
  previous?: DocsLink;
  next?: DocsLink;
};

const PLACE = { folder: join(import.meta.dirname, "docs"), under: "/docs/assets" };
const ICON = readAsset(PLACE, "icon.svg");
const STYLE = readAsset(PLACE, "style.css");
const REFERENCE_STYLE = readAsset(PLACE, "reference.css");
const PAGE_SCRIPT = readAsset(PLACE, "docs.js");
const SEARCH_SCRIPT = readAsset(PLACE, "search.js");

export const DOCS_ASSETS = [ICON, STYLE, REFERENCE_STYLE, PAGE_SCRIPT, SEARCH_SCRIPT];

const REFERENCE_LINK = html`\n<link rel="stylesheet" href="${REFERENCE_STYLE.path}">`;

/** The frame of every page. It contains no inline script or style: the content security policy forbids both. */
export function renderPage(page: DocsPage): Html {
  const isReference = page.path === REFERENCE_PATH;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${page.title} · Returns Analytics API</title>
<meta name="description" content="${page.description}">
<link rel="icon" href="${ICON.path}" type="image/svg+xml">
<link rel="stylesheet" href="${STYLE.path}">${isReference && REFERENCE_LINK}
<script src="${PAGE_SCRIPT.path}" type="module"></script>
<script src="${SEARCH_SCRIPT.path}" type="module"></script>
</head>
<body class="${isReference ? "reference" : "guide"}">
<a class="skip" href="#content">Skip to content</a>
<header class="top">
<a class="brand" href="/docs"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M4 13a8 8 0 1 0 2.6-5.9M4 4v4.6h4.6"/><path d="M9 15.5v-3M12.5 15.5v-6M16 15.5v-4"/></svg>Returns Analytics API</a>
<nav aria-label="Site">${topLink("/docs", "Guides", !isReference)}${topLink(REFERENCE_PATH, "Reference", isReference)}<a href="/openapi.json">OpenAPI</a></nav>
</header>
<div class="frame">
<nav class="side" aria-label="Contents">
<search><input id="search" type="search" placeholder="Search the guides" aria-label="Search the guides" autocomplete="off" spellcheck="false"><ul id="found" aria-live="polite" hidden></ul></search>
<details class="menu"><summary>Contents</summary>${navigation(page)}</details>
<div class="list">${navigation(page)}</div>
</nav>
<main id="content" tabindex="-1">
${page.body}
${neighbours(page)}<footer>Contract version ${API_VERSION} · <a href="/openapi.json">openapi.json</a> · <a href="/llms.txt">llms.txt</a></footer>
</main>
${sectionList(page)}</div>
</body>
</html>
`;
}

function neighbours({ previous, next }: DocsPage): Html | null {
  if (previous === undefined || next === undefined) return null;
  const link = (to: DocsLink, relation: "prev" | "next", word: string): Html =>
    html`<a href="${to.href}" rel="${relation}"><span>${word}</span>${to.text}</a>`;
  return html`<nav class="neighbours" aria-label="Previous and next">${link(previous, "prev", "Previous")}${link(next, "next", "Next")}</nav>\n`;
}

function sectionList({ sections = [] }: DocsPage): Html | null {
  if (sections.length < 2) return null;
  const links = sections.map(({ id, text }) => html`<li><a href="#${id}">${text}</a></li>`);
  return html`<nav class="sections" aria-label="On this page"><p>On this page</p><ul>${links}</ul></nav>\n`;
}

function topLink(href: string, text: string, isCurrent: boolean): Html {
  return html`<a href="${href}"${isCurrent && html` class="current"`}>${text}</a>`;
}

function navigation({ navigation: groups, path }: DocsPage): Html[] {
  const link = ({ href, text }: DocsLink): Html =>
    html`<li><a href="${href}"${href === path && html` aria-current="page"`}>${text}</a></li>`;
  return groups.map(({ title, links }) => html`<p>${title}</p><ul>${links.map(link)}</ul>`);
}
