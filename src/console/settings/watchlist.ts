import { hasRight } from "../../control/rights.ts";
import { showWatched, unwatch, watch, WATCHED_TYPES } from "../../control/watchlist.ts";
import type { IsWatched, WatchedType } from "../../control/watchlist.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import type { Action } from "../action.ts";
import type { ApiAnswer } from "../figure.ts";
import { day } from "../format.ts";
import { definePage } from "../page.ts";
import type { BodyOf, PageCall } from "../page.ts";
import { entries } from "../views/entries.ts";
import type { Entry } from "../views/entries.ts";
import { filterForm, textField as searchField } from "../views/filters.ts";
import { actionForm, refusal, selectField, textField } from "../views/form.ts";
import { watchableOf, WATCHED_TEXTS } from "../views/watch-mark.ts";
import type { Watchable } from "../views/watch-mark.ts";

type Watched = Awaited<ReturnType<typeof showWatched>>;
type Found = ApiAnswer<BodyOf<"entities">>;
type Data = {
  watched: Watched;
  /** The catalogue can be searched: figures are given. */
  isServed: boolean;
  /** null = nothing is searched for. */
  found: Found | null;
};

const PATH = "/settings/watchlist";
const TITLE = "Watchlist";
const ADD = "watch.add";
const REMOVE = "watch.remove";
const MOST_FOUND = 20;

/** What the workspace watches: a spike of its return rate raises an alert. */
export const watchlist = definePage<Data>({
  name: "watchlist",
  path: PATH,
  right: "settings.read",
  link: TITLE,
  takes: ["type", "key", "q"],
  about: async (call) => {
    const { database, workspace } = await call.acting();
    const { length } = await showWatched(database, workspace);
    return length === 0
      ? "Nothing is watched yet."
      : `${length} ${length === 1 ? "entry" : "entries"}: an alert says when a return rate jumps.`;
  },
  data: async (call) => {
    const { database, workspace } = await call.acting();
    const isServed = workspace.billing === "active" && workspace.readiness === "ready";
    const q = call.query["q"] ?? "";
    const isSearch = isServed && q.trim() !== "" && hasRight(call.role, ADD);
    const [watched, found] = await Promise.all([
      showWatched(database, workspace),
      isSearch ? call.read("entities", "entities", { q, limit: MOST_FOUND }) : null,
    ]);
    return { watched, isServed, found };
  },
  view: (data, call) => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1>
      ${LEAD} ${refusal(call, REMOVE)} ${askedPart(data, call)}
      ${data.watched.length === 0 ? html`<p>Nothing is watched yet.</p>` : list(data.watched, call)}
      ${hasRight(call.role, ADD) && html`<h2>Watch one more</h2> ${searchPart(data, call)} ${keyForm(call)}`}`,
  }),
  refused: (call) => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1>
      ${searchForm(call)}`,
  }),
});

const LEAD = html`<p class="lead">
  When the return rate of something watched jumps in the newest complete month, an alert says so. The 20 SKUs
  with the most returned units of a year are watched in any case.
</p>`;

export const watchlistActions: readonly Action[] = [
  {
    name: ADD,
    path: PATH,
    right: ADD,
    page: watchlist,
    perform: async ({ form, href, acting }) => {
      const { database, actor, workspace } = await acting();
      const { key, changed } = await watch(
        database,
        actor,
        workspace,
        form.get("type") ?? "",
        form.get("key") ?? "",
      );
      const done = changed ? `${key} is watched from the next evaluation on.` : `${key} was watched already.`;
      return { href: href(PATH), done };
    },
  },
  {
    name: REMOVE,
    path: `${PATH}/remove`,
    right: REMOVE,
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

/** What a link of another page names, first of all. */
function askedPart({ watched }: Data, call: PageCall): Html | null {
  const asked = askedOf(call);
  if (asked === null || call.refusedForm !== null || !hasRight(call.role, ADD)) return null;
  const { type, key } = asked;
  const what = `${WATCHED_TEXTS[type]} ${key}`;
  if (isIn(watched)(type, key)) return html`<p class="banner">${what} is watched already.</p>`;
  return html`<div class="banner">
    <p><strong>${what}</strong> is not watched yet.</p>
    ${actionForm(call, { path: PATH, button: `Watch ${key}`, kept: { type, key } })}
  </div>`;
}

function askedOf({ query }: PageCall): Watchable | null {
  const type = WATCHED_TYPES.find((each) => each === query["type"]);
  const key = query["key"] ?? "";
  return type === undefined || key === "" ? null : { type, key };
}

function watchForm(call: PageCall, { type, key }: Watchable, button: string): Html {
  return actionForm(call, { path: PATH, button, look: "quiet", kept: { type, key } });
}

function isIn(watched: Watched): IsWatched {
  return (type, key) => watched.some((each) => each.type === type && each.key === key);
}

function list(watched: Watched, call: PageCall): Html {
  const canRemove = hasRight(call.role, REMOVE);
  return entries(
    watched.map(({ type, key, title, added_at }) => ({
      name: html`<a href="${call.href("/report", selectorOf(type, key))}">${title ?? key}</a>`,
      detail: html`${WATCHED_TEXTS[type]}${title !== null && html` ${key}`} · since
      ${day(added_at.toISOString())}`,
      actions: canRemove
        ? [
            actionForm(call, {
              path: `${PATH}/remove`,
              button: `Stop watching ${key}`,
              look: "quiet",
              kept: { type, key },
            }),
          ]
        : [],
    })),
  );
}

function selectorOf(type: WatchedType, key: string): Record<string, string> {
  if (type === "sku" || type === "product_gid") return { [type]: key };
  return { product_group_type: type, product_group_key: key };
}

function searchPart({ watched, isServed, found }: Data, call: PageCall): Html {
  if (!isServed) {
    return html`<p class="note">
      The catalogue cannot be searched while figures are withheld: billing has to be active, and the store's data
      there.
    </p>`;
  }
  return html`${searchForm(call)} ${found !== null && results(found, isIn(watched), call)}`;
}

function searchForm(call: PageCall): Html {
  return filterForm(call, PATH, {}, [
    searchField("q", "Search name, SKU or vendor", call.query["q"], "search"),
  ]);
}

function results(found: Found, isWatched: IsWatched, call: PageCall): Html {
  const { data, meta } = found.body;
  if (data.length === 0) {
    return html`<p class="banner">Nothing matches “${meta.query}”. A search takes parts of words.</p>`;
  }
  const listed = data.map((entity): Entry => {
    const asked = watchableOf(entity.selector);
    return {
      name: entity.label,
      detail: html`${WATCHED_TEXTS[asked.type]}${entity.type !== "product_group" && entity.subtitle !== null && html` · ${entity.subtitle}`}`,
      actions: [
        isWatched(asked.type, asked.key)
          ? html`<span class="tag">watched</span>`
          : watchForm(call, asked, `Watch ${entity.label}`),
      ],
    };
  });
  return html`${entries(listed)}
  ${data.length === meta.limit && html`<p class="note">More may match: a longer search finds them.</p>`}`;
}

/** For who knows what it is called in the data. */
function keyForm(call: PageCall): Html {
  const { query } = call;
  return html`<h2>Watch by its key</h2>
    ${refusal(call, ADD)}
    ${actionForm(call, { path: PATH, button: "Watch" }, [
      selectField(call, ADD, {
        name: "type",
        label: "What it is",
        value: query["type"] ?? "sku",
        options: WATCHED_TYPES.map((type) => [type, WATCHED_TEXTS[type]] as const),
      }),
      textField(call, ADD, {
        name: "key",
        label: "Its key",
        hint: "The SKU, the product's id as in the API (product_gid), or the name of the family or category.",
        value: query["key"] ?? "",
      }),
    ])}`;
}
