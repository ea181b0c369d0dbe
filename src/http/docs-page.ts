import { join } from "node:path";
import { API_VERSION } from "../contract/endpoint.ts";
import { html } from "../lib/html.ts";
import type { Html } from "../lib/html.ts";
import { readAsset } from "./assets.ts";

export type DocsLink = { href: string; text: string; children?: readonly DocsLink[] };
export type NavigationGroup = { title: string; links: readonly DocsLink[] };

export type DocsPage = {
  path: string;
  title: string;
  /** For search engines and previews, one sentence. */
  description: string;
  navigation: readonly NavigationGroup[];
  body: Html;
  /** Headings for a list beside the page; empty = no list. */
  sections: readonly { id: string; text: string }[];
  /** A class of the page's own for its layout. */
  layout: "guide" | "reference";
  /** What is read before and after it, at its end. */
  previous?: DocsLink | undefined;
  next?: DocsLink | undefined;
};

const PLACE = { folder: join(import.meta.dirname, "docs"), under: "/docs/assets" };
const ICON = readAsset(PLACE, "icon.svg");
const STYLE = readAsset(PLACE, "style.css");
const REFERENCE_STYLE = readAsset(PLACE, "reference.css");
const PAGE_SCRIPT = readAsset(PLACE, "docs.js");
const SEARCH_SCRIPT = readAsset(PLACE, "search.js");

export const DOCS_ASSETS = [ICON, STYLE, REFERENCE_STYLE, PAGE_SCRIPT, SEARCH_SCRIPT];

const REFERENCE_LINK = html`\n<link rel="stylesheet" href="${REFERENCE_STYLE.path}">`;

/** The frame of every page. Nothing in it is inline script or style: the content security policy forbids both. */
export function renderPage(page: DocsPage): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${page.title} · Returns Analytics API</title>
<meta name="description" content="${page.description}">
<link rel="icon" href="${ICON.path}" type="image/svg+xml">
<link rel="stylesheet" href="${STYLE.path}">${page.layout === "reference" && REFERENCE_LINK}
<script src="${PAGE_SCRIPT.path}" type="module"></script>
<script src="${SEARCH_SCRIPT.path}" type="module"></script>
</head>
<body class="${page.layout}">
<a class="skip" href="#content">Skip to content</a>
<header class="top">
<a class="brand" href="/docs"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M4 13a8 8 0 1 0 2.6-5.9M4 4v4.6h4.6"/><path d="M9 15.5v-3M12.5 15.5v-6M16 15.5v-4"/></svg>Returns Analytics API</a>
<nav aria-label="Site">${topLink("/docs", "Guides", page.layout === "guide")}${topLink("/docs/reference", "Reference", page.layout === "reference")}<a href="/openapi.json">OpenAPI</a></nav>
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
  if (previous === undefined && next === undefined) return null;
  const link = (to: DocsLink | undefined, relation: "prev" | "next", word: string): Html =>
    to === undefined
      ? html`<span></span>`
      : html`<a href="${to.href}" rel="${relation}"><span>${word}</span>${to.text}</a>`;
  return html`<nav class="neighbours" aria-label="Previous and next">${link(previous, "prev", "Previous")}${link(next, "next", "Next")}</nav>\n`;
}

function sectionList({ sections }: DocsPage): Html | null {
  if (sections.length < 2) return null;
  const links = sections.map(({ id, text }) => html`<li><a href="#${id}">${text}</a></li>`);
  return html`<nav class="sections" aria-label="On this page"><p>On this page</p><ul>${links}</ul></nav>\n`;
}

function topLink(href: string, text: string, isCurrent: boolean): Html {
  return html`<a href="${href}"${isCurrent && html` class="current"`}>${text}</a>`;
}

function navigation({ navigation: groups, path }: DocsPage): Html[] {
  const link = ({ href, text, children = [] }: DocsLink): Html => {
    const inner = children.length > 0 && html`<ul>${children.map(link)}</ul>`;
    return html`<li><a href="${href}"${href === path && html` aria-current="page"`}>${text}</a>${inner}</li>`;
  };
  return groups.map(({ title, links }) => html`<p>${title}</p><ul>${links.map(link)}</ul>`);
}
