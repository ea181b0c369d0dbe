import { showSources } from "../../control/sources.ts";
import type { ShownSource, ShownSources } from "../../control/sources.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { definePage } from "../page.ts";
import type { PageCall } from "../page.ts";
import { entries } from "../views/entries.ts";
import { rows } from "../views/facts.ts";
import { lastSuccess, nextRun, stateText, trouble, workerMissing } from "../views/settings/source-state.ts";
import { IMPORTS_PATH, SOURCES_PATH, sourcePath } from "./source-paths.ts";

type Data = ShownSources & { now: Date };

/** What brings data into the workspace, how each source is, and what can be connected. */
export const sources = definePage<Data>({
  name: "sources",
  path: SOURCES_PATH,
  right: "sources.read",
  link: "Sources",
  takes: [],
  about: async (call) => {
    const { sources: all } = await readSources(call);
    const used = all.filter(({ state }) => state !== "new");
    if (used.length === 0) return "Nothing brings data yet.";
    return used.map((source) => `${source.title}: ${stateText(source).toLowerCase()}.`).join(" ");
  },
  data: readSources,
  view: (data, call) => ({ title: "Sources", body: body(data, call) }),
});

async function readSources(call: PageCall): Promise<Data> {
  const { database, actor, workspace, now } = await call.acting();
  return { ...(await showSources(database, actor, workspace)), now };
}

function body({ sources: all, has_worker: hasWorker, now }: Data, call: PageCall): Html {
  const used = all.filter(({ state }) => state !== "new");
  const others = all.filter(({ state }) => state === "new");
  return html`<h1>Sources</h1>
    <p class="lead">Where orders, returns and label costs come from, and how new they are.</p>
    ${used.some(({ state }) => state !== "imported") && workerMissing(hasWorker)}
    ${used.length === 0 && html`<p>Nothing brings data yet: connect a source below, or upload files.</p>`}
    ${used.map((source) => part(source, call, { hasWorker, now }))}
    <h2>Connect one more</h2>
    ${entries([
      ...others.map(({ source, title, kind }) => ({
        name: title,
        detail: kind === "store" ? "Orders, returns, refunds and products." : "What return labels cost.",
        actions: [html`<a href="${call.href(sourcePath(source, "/connect"))}">Connect ${title}</a>`],
      })),
      {
        name: "CSV files",
        detail: "Anything else: orders, returns and label costs as files.",
        actions: [html`<a href="${call.href(IMPORTS_PATH)}">Upload CSV files</a>`],
      },
    ])}`;
}

function part(
  source: ShownSource,
  call: PageCall,
  { hasWorker, now }: { hasWorker: boolean; now: Date },
): Html {
  const { title, state } = source;
  const isImported = state === "imported";
  return html`<section>
    <h2>
      ${isImported ? title : html`<a href="${call.href(sourcePath(source.source))}">${title}</a>`}
    </h2>
    ${trouble(source, call)}
    ${rows([
      { name: "State", value: stateText(source), note: source.account },
      { name: "Last success", value: lastSuccess(source) },
      ...(isImported ? [] : [{ name: "Next run", value: nextRun(source, hasWorker, now) }]),
    ])}
    ${state === "disconnected" && html`<p><a href="${call.href(sourcePath(source.source, "/connect"))}">Connect ${title} again</a></p>`}
  </section>`;
}
