import { showWatched, unwatch, watch, WATCHED_TYPES } from "../../control/watchlist.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import type { Action } from "../action.ts";
import { definePage } from "../page.ts";
import type { PageCall } from "../page.ts";
import { entries } from "../views/entries.ts";
import { actionForm, refusal, selectField, textField } from "../views/form.ts";

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

function list(watched: Data, call: PageCall): Html {
  return entries(
    watched.map(({ type, key }) => ({
      name: key,
      detail: type,
      actions: [
        actionForm(call, {
          path: `${PATH}/remove`,
          button: `Stop watching ${key}`,
          look: "quiet",
          kept: { type, key },
        }),
      ],
    })),
  );
}

function addForm(call: PageCall): Html {
  const { query } = call;
  const action = "watch.add";
  return html`<h2>Watch one more</h2>
    ${refusal(call, action)}
    ${actionForm(call, { path: PATH, button: "Watch" }, [
      selectField(call, action, {
        name: "type",
        label: "What it is",
        value: query["type"] ?? "sku",
        options: WATCHED_TYPES.map((type) => [type, type] as const),
      }),
      textField(call, action, { name: "key", label: "Its key", value: query["key"] ?? "" }),
    ])}`;
}
