import { readSettings } from "../../actions/right.ts";
import { askToErase, ERASE_DAYS, takeBackErasure } from "../../control/erase.ts";
import { exportFromConsole } from "../../control/export-archive.ts";
import { hasRight } from "../../control/rights.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import type { Action } from "../action.ts";
import { instant } from "../format.ts";
import { definePage } from "../page.ts";
import type { PageCall } from "../page.ts";
import { refusal, textField } from "../views/form.ts";

type Data = { eraseAfter: Date | null };

export const DATA_PATH = "/settings/data";

/** Takes everything of the workspace out, and away. */
export const data = definePage<Data>({
  name: "data",
  path: DATA_PATH,
  right: readSettings,
  link: "Data",
  takes: [],
  about: async (call) => {
    const { workspace } = await call.acting();
    const { erase_after: eraseAfter } = workspace;
    return eraseAfter === null
      ? "Export everything, or have the workspace erased."
      : `The workspace is erased after ${timeText(eraseAfter)}.`;
  },
  data: async (call) => {
    const { workspace } = await call.acting();
    return { eraseAfter: workspace.erase_after };
  },
  view: ({ eraseAfter }, call) => ({
    title: "Data",
    body: html`<h1>Data</h1>
      <p class="lead">Take all data of this workspace with you, or have it erased.</p>
      ${hasRight(call.role, "workspace.export") ? forOwners(call, eraseAfter) : FOR_OTHERS}`,
  }),
});

export const dataActions: readonly Action[] = [
  {
    name: "data.export",
    path: `${DATA_PATH}/export`,
    right: "workspace.export",
    page: data,
    perform: async ({ acting }) => ({ file: await exportFromConsole(await acting()) }),
  },
  {
    name: "data.erase",
    path: `${DATA_PATH}/erase`,
    right: "workspace.erase",
    page: data,
    perform: async ({ form, href, acting }) => {
      const { database, actor, workspace, now } = await acting();
      const typedDomain = form.get("domain") ?? "";
      const erasure = await askToErase(database, actor, workspace, { typedDomain, now });
      return {
        href: href(DATA_PATH),
        done: `Nothing of this workspace is served any more. It is erased after ${timeText(erasure.erase_after)}.`,
      };
    },
  },
  {
    name: "data.keep",
    path: `${DATA_PATH}/keep`,
    right: "workspace.keep",
    page: data,
    perform: async ({ href, acting }) => {
      const { database, actor, workspace } = await acting();
      await takeBackErasure(database, actor, workspace);
      return { href: href(DATA_PATH), done: "The workspace stays: everything is served as before." };
    },
  },
];

/** Above every page of settings while the workspace is going to be erased. */
export function erasureBanner(eraseAfter: Date | null, dataHref: string): Html | null {
  if (eraseAfter === null) return null;
  return html`<p class="banner warn">
    This workspace is erased after ${timeText(eraseAfter)}. Until then nothing of it is served, and
    <a href="${dataHref}">an owner can take it back</a>.
  </p>`;
}

const FOR_OTHERS = html`<p>Only an owner of this workspace may do that.</p>`;

function forOwners(call: PageCall, eraseAfter: Date | null): Html {
  return html`${exportForm(call)} ${eraseAfter === null ? eraseForm(call) : keepForm(call, eraseAfter)}`;
}

function exportForm(call: PageCall): Html {
  return html`<h2>Export everything</h2>
    ${refusal(call, "data.export")}
    <p>
      One zip file: orders, returns, refunds, labels, products and sale events as CSV files that another
      installation imports to the same answers; settings, members, audit and alerts as JSON. It holds no secrets:
      no tokens and no credentials of sources.
    </p>
    <p class="note">
      The file names your orders and costs. Keep it where only you can read it. A download that breaks off is not whole:
      start it again.
    </p>
    <form method="post" action="${call.href(`${DATA_PATH}/export`)}">
      <button>Export everything</button>
    </form>
    <p><a href="/docs/moving">How to bring it to another installation</a></p>`;
}

function eraseForm(call: PageCall): Html {
  return html`<h2>Erase this workspace</h2>
    ${refusal(call, "data.erase")}
    <p>
      Serving stops at once: the API, agents, these pages and all syncs. For ${ERASE_DAYS} days an owner can take that
      back, and everything is as it was. After that all data, tokens, connections, members and the audit are erased for
      good.
    </p>
    <form method="post" action="${call.href(`${DATA_PATH}/erase`)}">
      ${textField(call, "data.erase", { name: "domain", label: `Type ${call.shopDomain} to confirm` })}
      <button class="danger">Erase this workspace</button>
    </form>`;
}

function keepForm(call: PageCall, eraseAfter: Date): Html {
  return html`<h2>This workspace is going to be erased</h2>
    ${refusal(call, "data.keep")}
    <p>It is erased after ${timeText(eraseAfter)}. Until then nothing of it is served, and no sync runs.</p>
    <form method="post" action="${call.href(`${DATA_PATH}/keep`)}">
      <button>Keep this workspace</button>
    </form>`;
}

/** In UTC, as every time of these pages. */
function timeText(moment: Date): string {
  return instant(moment.toISOString()) as string;
}
