import { showWatched, unwatch, watch, WATCHED_TYPES } from "../../control/watchlist.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import type { Action } from "../action.ts";
import { definePage } from "../page.ts";
import type { PageCall } from "../page.ts";
import { filledIn, refusal, textField } from "../views/form.ts";

type Data = Awaited<ReturnType<typeof showWatched>>;

const PATH = "/settings/watchlist";

/** What the workspace watches: more alerts come of it. */
export const watchlist = definePage<Data>({
  name: "watchlist",
  path: PATH,
  right: "settings.read",
  link: "Watchlist",
  takes: ["type", "key"],
  data: async (call) => {
    const { database, workspace } = await call.acting();
    return showWatched(database, workspace);
  },
  view: (watched, call) => ({
    title: "Watchlist",
    body: html`<h1>Watchlist</h1>
      ${watched.length === 0 ? html`<p>Nothing is watched yet.</p>` : list(watched, call)} ${addForm(call)}`,
  }),
});

export const watchlistActions: readonly Action[] = [
  {
    name: "watch.add",
    path: PATH,
    right: "watch.add",
    page: watchlist,
    perform: async ({ form, href, acting }) => {
      const { database, actor, workspace } = await acting();
      const { key } = await watch(database, actor, workspace, form.get("type") ?? "", form.get("key") ?? "");
      return { href: href(PATH), done: `${key} is watched from the next evaluation on.` };
    },
  },
  {
    name: "watch.remove",
    path: `${PATH}/remove`,
    right: "watch.remove",
    page: watchlist,
    perform: async ({ form, href, acting }) => {
      const { database, actor, workspace } = await acting();
      const { key } = await unwatch(
        database,
        actor,
        workspace,
        form.get("type") ?? "",
        form.get("key") ?? "",
      );
      return { href: href(PATH), done: `${key} is no longer watched.` };
    },
  },
];

function list(watched: Data, { href }: PageCall): Html {
  return html`<ul class="entries">
    ${watched.map(
      ({ type, key }) =>
        html`<li>
          ${key} <small>${type}</small>
          <form method="post" action="${href(`${PATH}/remove`)}">
            <input type="hidden" name="type" value="${type}" />
            <input type="hidden" name="key" value="${key}" />
            <button class="quiet">Stop watching ${key}</button>
          </form>
        </li>`,
    )}
  </ul>`;
}

function addForm(call: PageCall): Html {
  const { href, query } = call;
  const type = filledIn(call, "watch.add", "type", query["type"] ?? "sku");
  return html`<h2>Watch one more</h2>
    ${refusal(call, "watch.add")}
    <form method="post" action="${href(PATH)}">
      <p class="field">
        <label for="watch-type">What it is</label>
        <select id="watch-type" name="type">
          ${WATCHED_TYPES.map(
            (each) => html`<option value="${each}" ${each === type && html` selected=""`}>${each}</option>`,
          )}
        </select>
      </p>
      ${textField(call, "watch.add", { name: "key", label: "Its key", value: query["key"] ?? "" })}
      <button>Watch</button>
    </form>`;
}
