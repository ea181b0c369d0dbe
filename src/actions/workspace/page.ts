import { formFor, formOf } from "../../console/action-form.ts";
import { isoInstant } from "../../console/format.ts";
import { definePage, type Page, type PageCall } from "../../console/page.ts";
import { rows } from "../../console/views/blocks.ts";
import { textField } from "../../console/views/form.ts";
import { html, type Html } from "../../lib/html.ts";
import { mayDo, readSettings } from "../right.ts";
import { findDisplayName } from "./queries.ts";
import { nameWorkspace } from "./settings.ts";
import { ERASE_DAYS, eraseWorkspace, keepWorkspace } from "./actions.ts";
import { exportFromConsole, exportWorkspace } from "./export.ts";

type Data = { eraseAfter: Date | null; name: string };
type Line = { page: Page; about: string };

export const DATA_PATH = "/settings/data";

/** The workspace's name, export and erasure. */
export const dataPage = definePage<Data>({
  name: "data",
  path: DATA_PATH,
  right: readSettings,
  link: "Name, export and erasure",
  about: async (call) => {
    const { workspace } = await call.caller();
    const { erase_after: eraseAfter } = workspace;
    return eraseAfter === null
      ? "Name the workspace, export everything, or erase it."
      : `The workspace will be erased after ${isoInstant(eraseAfter)}.`;
  },
  data: async (call) => {
    const { workspace } = await call.caller();
    return { eraseAfter: workspace.erase_after, name: await nameOf(call) };
  },
  view: ({ eraseAfter, name }, call) => ({
    title: "Workspace",
    body: html`<h1>Workspace</h1>
      <p class="lead">Name this workspace, export all of its data, or erase it.</p>
      ${formFor(call, nameWorkspace, {
        values: { display_name: name === call.shopDomain ? "" : name },
        current: { display_name: name },
      })}
      ${mayDo(call.role, exportWorkspace) ? forOwners(call, eraseAfter) : FOR_OTHERS}`,
  }),
  forms: [
    {
      name: exportWorkspace.name,
      path: `${DATA_PATH}/export`,
      right: exportWorkspace,
      perform: async ({ caller }) => ({ file: await exportFromConsole(await caller()) }),
    },
    formOf(nameWorkspace, {
      path: `${DATA_PATH}/name`,
      current: async (call) => ({ display_name: await nameOf(call) }),
    }),
    formOf(eraseWorkspace, { path: `${DATA_PATH}/erase` }),
    formOf(keepWorkspace, { path: `${DATA_PATH}/keep` }),
  ],
});

/** Its domain, unless it was given a name. */
async function nameOf({ caller }: PageCall): Promise<string> {
  const { database, workspace } = await caller();
  return (await findDisplayName(database, workspace.shop_key)) ?? workspace.shop_domain;
}

/** Pages of settings that belong together. */
export type SettingsGroup = { title: string; pages: readonly Page[] };

/** Where the pages of settings are found, in groups: each with a sentence of how things stand. */
export function settingsOverview(groups: readonly SettingsGroup[]): Page {
  return definePage<{ title: string; lines: Line[] }[]>({
    name: "settings",
    path: "/settings",
    right: readSettings,
    link: "Settings",
    data: async (call) =>
      Promise.all(
        groups.map(async ({ title, pages }) => {
          const listed = pages.filter(({ link, right }) => link !== null && mayDo(call.role, right));
          const lines = listed.map(async (page) => ({ page, about: (await page.about?.(call)) ?? "" }));
          return { title, lines: await Promise.all(lines) };
        }),
      ),
    view: (shown, call) => ({
      title: "Settings",
      body: html`<h1>Settings</h1>
        <p class="lead">Changes apply from the next page and the next request.</p>
        ${shown.map(
          ({ title, lines }) =>
            lines.length > 0 &&
            html`<h2>${title}</h2>
              ${rows(lines.map(({ page, about }) => ({ name: html`<a href="${call.href(page.path)}">${page.link}</a>`, value: about })))}`,
        )}`,
    }),
  });
}

/** Above every page of settings while the workspace is going to be erased. */
export function erasureBanner(eraseAfter: Date | null, dataHref: string): Html | null {
  if (eraseAfter === null) return null;
  return html`<p class="banner warn">
    This workspace will be erased after ${isoInstant(eraseAfter)}. Until then it is not served, and <a href="${dataHref}">an owner can cancel the erasure</a>.
  </p>`;
}

const FOR_OTHERS = html`<p>Only an owner of this workspace can do this.</p>`;

function forOwners(call: PageCall, eraseAfter: Date | null): Html {
  return html`${exportPart(call)} ${eraseAfter === null ? erasePart(call) : keepPart(call, eraseAfter)}`;
}

function exportPart(call: PageCall): Html {
  return html`<h2>${exportWorkspace.title}</h2>
    <p>
      One zip file. It holds orders, returns, refunds, labels, products and sale days as CSV files; imported elsewhere,
      they give the same answers. Settings, members, audit and alerts are JSON files. It holds no tokens and no
      credentials of sources.
    </p>
    <p class="note">
      The file names your orders and costs. Keep it where only you can read it. An interrupted download is incomplete:
      start it again.
    </p>
    ${formFor(call, exportWorkspace)}
    <p><a href="/docs/moving">How to bring it to another installation</a></p>`;
}

function erasePart(call: PageCall): Html {
  const label = `Type ${call.shopDomain} to confirm`;
  return html`<h2>${eraseWorkspace.title}</h2>
    <p>
      The API, agents, these pages and all syncs stop at once. For ${ERASE_DAYS} days an owner can cancel
      the erasure, and everything works as before. After that all data, tokens, connections, members and the audit are
      permanently erased.
    </p>
    ${formFor(call, eraseWorkspace, {
      variant: "danger",
      drawn: { domain: textField(call, eraseWorkspace.name, { name: "domain", label }) },
    })}`;
}

function keepPart(call: PageCall, eraseAfter: Date): Html {
  return html`<h2>This workspace will be erased</h2>
    <p>It will be erased after ${isoInstant(eraseAfter)}. Until then it is not served, and no sync runs.</p>
    ${formFor(call, keepWorkspace)}`;
}
