import { buttonFor, formFor, formOf } from "../../console/action-form.ts";
import type { ApiAnswer } from "../../console/figure.ts";
import { isoDay } from "../../console/format.ts";
import { definePage, type BodyOf, type PageCall } from "../../console/page.ts";
import { entries, type Entry } from "../../console/views/blocks.ts";
import { filterForm, textField } from "../../console/views/filters.ts";
import { refusal } from "../../console/views/form.ts";
import { watchableOf, type Watchable } from "../../console/views/selection-title.ts";
import { html, type Html } from "../../lib/html.ts";
import { readList } from "../action.ts";
import { mayDo } from "../right.ts";
import { addWatched, removeWatched, WATCHED_TEXTS, WATCHED_TYPES, watchedList } from "./actions.ts";
import type { Watched, WatchedType } from "./actions.ts";

type Found = ApiAnswer<BodyOf<"entities">>;
type Data = {
  watched: readonly Watched[];
  /** The catalogue can be searched: figures are given. */
  isServed: boolean;
  /** null = nothing is searched for. */
  found: Found | null;
};

const PATH = "/settings/watchlist";
const TITLE = "Watchlist";
const MOST_FOUND = 20;

/** The workspace's watchlist: a spike of the return rate raises an alert. */
export const watchlist = definePage<Data>({
  name: "watchlist",
  path: PATH,
  right: watchedList,
  link: TITLE,
  takes: ["type", "key", "q"],
  about: async (call) => {
    const { length } = await readList(watchedList, await call.caller());
    return length === 0
      ? "Nothing is watched yet."
      : `${length} ${length === 1 ? "entry" : "entries"}: an alert says when a return rate jumps.`;
  },
  data: async (call) => {
    const caller = await call.caller();
    const { billing, readiness } = caller.workspace;
    const isServed = billing === "active" && readiness === "ready";
    const q = call.query["q"] ?? "";
    const isSearch = isServed && q.trim() !== "" && mayDo(call.role, addWatched);
    const [watched, found] = await Promise.all([
      readList(watchedList, caller),
      isSearch ? call.read("entities", "entities", { q, limit: MOST_FOUND }) : null,
    ]);
    return { watched, isServed, found };
  },
  view: (data, call) => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1>
      ${LEAD} ${refusal(call, removeWatched.name)} ${askedPart(call)}
      ${data.watched.length === 0 ? html`<p>Nothing is watched yet.</p>` : list(data.watched, call)}
      ${addPart(data, call)}`,
  }),
  refused: (call) => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1>
      ${searchForm(call)}`,
  }),
  forms: [formOf(addWatched), formOf(removeWatched, { path: `${PATH}/remove` })],
});

const LEAD = html`<p class="lead">
  An alert is raised when the return rate of a watched entry jumps in the newest complete month. The 20 SKUs
  with the most returned units of a year are always watched.
</p>`;

/** The entity from another page's link, shown first. */
function askedPart(call: PageCall): Html | null {
  const asked = askedOf(call);
  if (asked === null || call.refusedForm !== null || !mayDo(call.role, addWatched)) return null;
  const { type, key } = asked;
  const what = `${WATCHED_TEXTS[type]} ${key}`;
  if (call.isWatched(type, key)) return html`<p class="banner">${what} is already watched.</p>`;
  return html`<div class="banner">
    <p><strong>${what}</strong> is not watched yet.</p>
    ${buttonFor(call, addWatched, { button: `Watch ${key}`, kept: { type, key } })}
  </div>`;
}

function askedOf({ query }: PageCall): Watchable | null {
  const type = WATCHED_TYPES.find((each) => each === query["type"]);
  const key = query["key"] ?? "";
  return type === undefined || key === "" ? null : { type, key };
}

function list(watched: readonly Watched[], call: PageCall): Html {
  const canRemove = mayDo(call.role, removeWatched);
  return entries(
    watched.map(({ type, key, title, added_at }) => ({
      name: html`<a href="${call.href("/report", selectorOf(type, key))}">${title ?? key}</a>`,
      detail: html`${WATCHED_TEXTS[type]}${title !== null && html` ${key}`} · since
      ${isoDay(added_at)}`,
      actions: canRemove
        ? [
            buttonFor(call, removeWatched, {
              button: `Stop watching ${key}`,
              variant: "quiet",
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

function addPart(data: Data, call: PageCall): Html | null {
  if (!mayDo(call.role, addWatched)) return null;
  const { type = "sku", key = "" } = call.query;
  return html`<h2>Search the catalogue</h2>
    ${searchPart(data, call)}
    <h2>Watch by key</h2>
    ${formFor(call, addWatched, { values: { type, key } })}`;
}

function searchPart({ isServed, found }: Data, call: PageCall): Html {
  if (!isServed) {
    return html`<p class="note">
      The catalogue cannot be searched while figures are withheld: billing must be active, and the store's data
      there.
    </p>`;
  }
  return html`${searchForm(call)} ${found !== null && results(found, call)}`;
}

function searchForm(call: PageCall): Html {
  return filterForm(call, PATH, {}, [
    textField("q", "Search name, SKU or vendor", call.query["q"], "search"),
  ]);
}

function results(found: Found, call: PageCall): Html {
  const { data, meta } = found.body;
  if (data.length === 0) {
    return html`<p class="banner">Nothing matches “${meta.query}”. A search can match parts of words.</p>`;
  }
  const listed = data.map((entity): Entry => {
    const { type, key } = watchableOf(entity.selector);
    return {
      name: entity.label,
      detail: html`${WATCHED_TEXTS[type]}${entity.type !== "product_group" && entity.subtitle !== null && html` · ${entity.subtitle}`}`,
      actions: [
        call.isWatched(type, key)
          ? html`<span class="tag">watched</span>`
          : buttonFor(call, addWatched, {
              button: `Watch ${entity.label}`,
              variant: "quiet",
              kept: { type, key },
            }),
      ],
    };
  });
  return html`${entries(listed)}
  ${data.length === meta.limit && html`<p class="note">More may match: a longer search finds them.</p>`}`;
}
