import { formFor, formOf } from "../../console/action-form.ts";
import { count } from "../../console/format.ts";
import { definePage, type PageCall } from "../../console/page.ts";
import { entries } from "../../console/views/blocks.ts";
import { refusal } from "../../console/views/form.ts";
import { html, type Html } from "../../lib/html.ts";
import type { SaleEventRow } from "../../store/queries/report-figures.ts";
import { skusOfProduct } from "./queries.ts";
import { readList } from "../action.ts";
import { mayDo } from "../right.ts";
import { addSaleEvent, daysText, overlapsOf, removeSaleEvent, saleEventList } from "./actions.ts";

const PATH = "/settings/sale-events";
const TITLE = "Sale days";

const changeSaleEvent = { ...addSaleEvent, name: "sale_event.change", title: "Save sale days" };

type Data = {
  /** Newest first. */
  events: readonly SaleEventRow[];
  /** The event that is changed; null = one is added. */
  changed: SaleEventRow | null;
  /** SKUs that a report proposes for an event. */
  offered: readonly string[];
};

/** The days and SKUs of the store's sale events: with them, reports compare a sale with other days. */
export const saleEventSettings = definePage<Data>({
  name: "sale-event-settings",
  path: PATH,
  right: saleEventList,
  link: "Sale days",
  takes: ["slug", "sku", "product_gid"],
  about: async (call) => {
    const { length } = (await load(call)).events;
    return length === 0
      ? "No sale days have been added yet."
      : `The days of ${length} ${length === 1 ? "sale is" : "sales are"} compared with other days.`;
  },
  data: load,
  view: (data, call) => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1>
      <p class="lead">
        Enter the days of a sale, and reports compare the orders of these days with those of other days.
        <a href="${call.href("/sale-events")}">See the comparison</a>. Changes apply at once.
      </p>
      ${missingNote(data, call)} ${offeredNote(data)}
      ${data.events.length === 0 ? html`<p>No days of a sale have been entered.</p>` : list(data, call)}
      ${mayDo(call.role, addSaleEvent) && (data.changed === null ? addPart(data, call) : changePart(data.changed, data, call))}`,
  }),
  forms: [
    formOf(addSaleEvent, { texts: expecting("new") }),
    {
      ...formOf(addSaleEvent, { path: `${PATH}/change`, texts: expecting("known") }),
      name: changeSaleEvent.name,
    },
    formOf(removeSaleEvent, { path: `${PATH}/remove` }),
  ],
});

function expecting(expects: "new" | "known"): (name: string) => readonly string[] | undefined {
  return (name) => (name === "expects" ? [expects] : undefined);
}

async function load(call: PageCall): Promise<Data> {
  const caller = await call.caller();
  const { sku, product_gid: productGid } = call.query;
  const [events, skus] = await Promise.all([
    readList(saleEventList, caller),
    productGid === undefined ? [] : skusOfProduct(caller.database, caller.workspace.shop_key, productGid),
  ]);
  const slug = slugAsked(call);
  return {
    events: events.toReversed(),
    changed: events.find((event) => event.slug === slug) ?? null,
    offered: sku === undefined || sku === "" ? skus : [sku],
  };
}

/** The event that is to be changed; null = none is named. */
function slugAsked({ query, refusedForm }: PageCall): string | null {
  if (refusedForm?.action === addSaleEvent.name) return null;
  return refusedForm?.values.get("slug") ?? query["slug"] ?? null;
}

function missingNote({ changed }: Data, call: PageCall): Html | null {
  const slug = slugAsked(call);
  if (slug === null || changed !== null) return null;
  const why = refusal(call, changeSaleEvent.name) ?? refusal(call, removeSaleEvent.name);
  return html`${why ?? html`<p class="banner warn">There are no sale days “${slug}”.</p>`}`;
}

function offeredNote({ offered, events, changed }: Data): Html | null {
  if (offered.length === 0 || changed !== null) return null;
  const what = offered.length === 1 ? offered[0] : `${offered.length} SKUs`;
  return html`<p class="banner">
    ${what} can be added to new sale days below${events.length > 0 && ", or to some of these"}.
  </p>`;
}

/** Every event: its days, its SKUs, and the events with which it overlaps. */
function list({ events, offered }: Data, call: PageCall): Html {
  return entries(
    events.map((event) => ({
      name: html`<a href="${call.href("/report", { saleEvent: event.slug })}">${event.label}</a>`,
      detail: html`${daysText(event.starts_on, event.ends_on)} · ${scopeText(event)}
      ${overlapsOf(event, events).map((sentence) => html`<br />${sentence}`)}`,
      actions: mayDo(call.role, addSaleEvent) ? [changeLink(event, offered, call)] : [],
    })),
  );
}

/** Keeps the SKUs proposed by a report. */
function changeLink({ slug, label, skus }: SaleEventRow, offered: readonly string[], call: PageCall): Html {
  const { sku, product_gid } = call.query;
  const adds = offered.length > 0 && skus !== null;
  const href = call.href(PATH, adds ? { slug, sku, product_gid } : { slug });
  return adds
    ? html`<a href="${href}">Add to ${label}</a>`
    : html`<a href="${href}" aria-label="Change ${label}">Change</a>`;
}

function scopeText({ skus }: SaleEventRow): string {
  if (skus === null) return "the whole store";
  return skus.length === 1 ? (skus[0] ?? "") : `${count(skus.length) as string} SKUs`;
}

function addPart({ offered }: Data, call: PageCall): Html {
  return html`<h2>${addSaleEvent.title}</h2>
    ${formFor(call, addSaleEvent, { values: { skus: offered.join("\n") } })}`;
}

function changePart(event: SaleEventRow, { offered }: Data, call: PageCall): Html {
  const { slug, label, starts_on, ends_on, skus } = event;
  const changing = formFor(call, changeSaleEvent, {
    kept: { slug },
    values: {
      label,
      starts_on,
      ends_on,
      skus: skus === null ? "" : [...new Set([...skus, ...offered])].join("\n"),
    },
  });
  return html`<h2>Change ${label}</h2>
    ${changing}
    <p><a href="${call.href(PATH)}">Cancel</a></p>
    <h2>Remove ${label}</h2>
    ${formFor(call, removeSaleEvent, { variant: "danger", kept: { slug } })}`;
}
