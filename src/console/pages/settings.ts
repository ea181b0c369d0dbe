import { readSettings } from "../../actions/right.ts";
import { hasRight } from "../../control/rights.ts";
import { html } from "../../lib/html.ts";
import { definePage } from "../page.ts";
import type { Page } from "../page.ts";
import { rows } from "../views/facts.ts";

type Line = { page: Page; about: string };

/** Where the pages of settings are found: each with a sentence of how things stand. */
export function settingsOverview(pages: readonly Page[]): Page {
  return definePage<Line[]>({
    name: "settings",
    path: "/settings",
    right: readSettings,
    link: "Settings",
    takes: [],
    data: async (call) => {
      const listed = pages.filter(({ link, right }) => link !== null && hasRight(call.role, right));
      return Promise.all(listed.map(async (page) => ({ page, about: (await page.about?.(call)) ?? "" })));
    },
    view: (lines, call) => ({
      title: "Settings",
      body: html`<h1>Settings</h1>
        <p class="lead">What is changed here counts from the next page and the next request on.</p>
        ${rows(lines.map(({ page, about }) => ({ name: html`<a href="${call.href(page.path)}">${page.link}</a>`, value: about })))}`,
    }),
  });
}
