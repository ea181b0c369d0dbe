import { join } from "node:path";
import { readAsset, type Asset } from "../http/assets.ts";
import { parseQueryString } from "../http/query-string.ts";
import { html, type Html } from "../lib/html.ts";
import type { Page } from "./page.ts";
import { READABLE } from "./registry.ts";
import { findByPath } from "./route.ts";

/** A link of the navigation; `current`: "page" = it is shown, "true" = one that it lists is shown. */
export type NavigationLink = { href: string; text: string; current: "page" | "true" | null };

export type Frame = {
  title: string;
  scripts: readonly Asset[];
  /** null: not signed in. */
  userName: string | null;
  /** null = no workspace is shown. */
  workspace: {
    /** Its display name. */
    name: string;
    href: string;
    /** Where another one is chosen, at the same page. */
    switchHref: string;
    links: readonly NavigationLink[];
    /** Where products are searched, and for what. */
    search: { href: string; text: string };
    /** The overview of settings, and below it their pages while one of them is shown. */
    settings: NavigationLink & { links: readonly NavigationLink[] };
  } | null;
  /** A job under way is shown. */
  isRunning?: boolean | undefined;
  /** The result of the action before this page. */
  done?: string | null;
  /** Content above the page: the as-of line and banners. */
  above?: Html | null;
  body: Html;
  /** Content below it: the API box. */
  below?: Html | null;
  /** Footer of each printed page: its source and date. */
  printed?: string;
};

/** The frame of every page of the console. It contains no inline script or style: the content security policy forbids both. */
export function layout(frame: Frame): Html {
  const { title, scripts, workspace, userName, done, above, body, below, printed } = frame;
  const place = workspace === null ? "Returns Analytics" : `${workspace.name} · Returns Analytics`;
  return html`<!doctype html>
    <html lang="en" ${printed !== undefined && html` data-printed="${printed}"`}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} · ${place}</title>
        <link rel="icon" href="${icon.path}" type="image/svg+xml" />
        <link rel="stylesheet" href="${style.path}" />
        ${frame.isRunning === true && html`<noscript><meta http-equiv="refresh" content="5" /></noscript>`}
        ${scripts.map((script) => html`<script src="${script.path}" type="module"></script>`)}
      </head>
      <body>
        <a class="skip" href="#content">Skip to content</a>
        <header class="top">
          <a class="brand" href="${workspace?.href ?? "/"}"
            ><svg viewBox="0 0 24 24" aria-hidden="true">
              <path d="M4 13a8 8 0 1 0 2.6-5.9M4 4v4.6h4.6" />
              <path d="M9 15.5v-3M12.5 15.5v-6M16 15.5v-4" /></svg
            ><span>Returns Analytics</span></a
          >
          ${workspace !== null && html`<a class="place" href="${workspace.switchHref}" title="Switch workspace">${workspace.name}</a>`}
          ${workspace !== null && searchForm(workspace.search)}
          <nav class="account" aria-label="Account">
            <a href="/docs">Guides</a>${userName !== null && signOut(userName)}
          </nav>
        </header>
        <div class="${workspace === null ? "frame alone" : "frame"}">
          ${workspace !== null && navigation(workspace)}
          <main id="content" tabindex="-1">
            ${doneBanner(done)} ${above} ${body} ${below}
          </main>
        </div>
      </body>
    </html> `;
}

function searchForm({ href, text }: { href: string; text: string }): Html {
  return html`<form class="search" role="search" action="${href}" method="get">
    <input
      type="search"
      name="q"
      value="${text}"
      aria-label="Search products and SKUs"
      aria-keyshortcuts="/"
      placeholder="Search products and SKUs"
    />
  </form>`;
}

function signOut(userName: string): Html {
  return html`<form method="post" action="/sign-out">
    <a class="user" href="/me">${userName}</a> <button class="quiet">Sign out</button>
  </form>`;
}

type Workspace = Exclude<Frame["workspace"], null>;

/** On narrow screens the same list is behind a summary; one of the two is shown. */
function navigation({ links, settings }: Workspace): Html {
  const all = [...links, settings, ...settings.links];
  const current = all.find((link) => link.current !== null)?.text ?? "Pages";
  const items = [
    ...links.map((link) => html`<li>${linkTo(link)}</li>`),
    html`<li class="apart">
      ${linkTo(settings)}
      ${
        settings.links.length > 0 &&
        html`<ul>
          ${settings.links.map((link) => html`<li>${linkTo(link)}</li>`)}
        </ul>`
      }
    </li>`,
  ];
  return html`<nav class="side" aria-label="Pages">
    <details>
      <summary>${current}</summary>
      <ul>
        ${items}
      </ul>
    </details>
    <ul class="list">
      ${items}
    </ul>
  </nav>`;
}

function linkTo({ href, text, current }: NavigationLink): Html {
  return html`<a href="${href}" ${current !== null && html` aria-current="${current}"`}>${text}</a>`;
}

/** After the first sign-in by a link. */
export const OFFER_PASSKEY = "You are signed in. With a passkey you need no link next time.";

function doneBanner(sentence: string | null | undefined): Html | null {
  if (typeof sentence !== "string") return null;
  const offer = sentence === OFFER_PASSKEY && html` <a href="/me">Create a passkey</a>`;
  return html`<p class="banner done" role="status" tabindex="-1" autofocus>${sentence}${offer}</p>`;
}

const PLACE = { folder: join(import.meta.dirname, "assets"), under: "/assets" };

const STYLE_FILES = ["tokens.css", "console.css", "forms.css", "pages.css", "charts.css", "print.css"];
/** Of the pages of workspaces, joined into one module to save a request on a first visit: no name may occur twice. */
const PAGE_SCRIPT_FILES = ["bar.js", "readout.js", "progress.js", "upload.js", "keep.js"];

/** Of the sign-in pages and the account page. */
const ENTER_SCRIPT_FILES = ["enter.js", "passkey.js"];

const style = readAsset(PLACE, "console.css", STYLE_FILES);
const icon = readAsset(PLACE, "icon.svg");
const pageScript = readAsset(PLACE, "page.js", PAGE_SCRIPT_FILES);
const enterScript = readAsset(PLACE, "enter.js", ENTER_SCRIPT_FILES);
const SERVED = [style, icon, pageScript, enterScript];

/** The assets of the pages, read once, when the process starts; `all`: each of them once, to be served. */
export const CONSOLE_ASSETS = { style, icon, pageScript, enterScript, all: SERVED };

/** Parameters with the same meaning in every workspace: products differ between workspaces. */
const KEPT = ["start_month", "end_month", "window", "include_incomplete", "request"];

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
  const kept = KEPT.flatMap((name) => (values.has(name) ? [[name, String(values.get(name))]] : []));
  return new URLSearchParams(kept).toString();
}
