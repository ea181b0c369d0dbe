import { hasRight } from "../../control/rights.ts";
import {
  addSaleEvent,
  overlapsOf,
  removeSaleEvent,
  showSaleEvents,
  showSkusOfProduct,
  slugOf,
} from "../../control/sale-event.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import type { Action, ActionCall, Outcome } from "../action.ts";
import { definePage } from "../page.ts";
import type { PageCall } from "../page.ts";
import { actionForm, areaField, refusal, textField } from "../views/form.ts";
import { eventEntries, overlapSentences } from "../views/settings/sale-events.ts";
import type { SaleEvent } from "../views/settings/sale-events.ts";

const PATH = "/settings/sale-events";
const TITLE = "Days of sale events";
const LINK = "Sale days";
const RIGHT = "sale_event.add";
const ADD = "sale_event.add";
const CHANGE = "sale_event.change";
const REMOVE = "sale_event.remove";

type Data = {
  events: readonly SaleEvent[];
  /** The event that is changed; null = one is added. */
  changed: SaleEvent | null;
  /** What a report wants to be put into an event. */
  offered: readonly string[];
};

/** The days and SKUs of the store's sale events: with them, reports compare a sale with other days. */
export const saleEventSettings = definePage<Data>({
  name: "sale-event-settings",
  path: PATH,
  right: "settings.read",
  link: LINK,
  takes: ["slug", "sku", "product_gid"],
  about: async (call) => {
    const { length } = await load(call).then(({ events }) => events);
    return length === 0
      ? "No sale event has been entered yet."
      : `${length} sale ${length === 1 ? "event is" : "events are"} compared with other days.`;
  },
  data: load,
  view: (data, call) => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1>
      <p class="lead">
        With the days of a sale known, reports compare what was ordered in it with other days.
        <a href="${call.href("/sale-events")}">See them compared</a>. A change counts from the next page and the
        next API request on.
      </p>
      ${refusal(call, REMOVE)} ${missingNote(data, call)} ${offeredNote(data)}
      ${data.events.length === 0 ? html`<p>No sale event has been entered.</p>` : eventEntries(data, call)}
      ${hasRight(call.role, RIGHT) && (data.changed === null ? addPart(data, call) : changePart(data.changed, data, call))}`,
  }),
});

export const saleEventActions: readonly Action[] = [
  {
    name: ADD,
    path: PATH,
    right: RIGHT,
    page: saleEventSettings,
    perform: (call) => save(call, "new"),
  },
  {
    name: CHANGE,
    path: `${PATH}/change`,
    right: RIGHT,
    page: saleEventSettings,
    perform: (call) => save(call, "known"),
  },
  {
    name: REMOVE,
    path: `${PATH}/remove`,
    right: REMOVE,
    page: saleEventSettings,
    perform: async ({ form, href, acting }) => {
      const { database, actor, workspace } = await acting();
      const { slug, removed } = await removeSaleEvent(database, actor, workspace, form.get("slug") ?? "");
      const done = removed
        ? `${slug} is removed; no report compares it any more.`
        : `${slug} was removed already.`;
      return { href: href(PATH), done };
    },
  },
];

async function save({ form, href, acting }: ActionCall, expects: "new" | "known"): Promise<Outcome> {
  const { database, actor, workspace } = await acting();
  const label = form.get("label") ?? "";
  const given = (form.get("slug") ?? "").trim();
  const { event } = await addSaleEvent(database, actor, workspace, {
    slug: given === "" ? slugOf(label) : given,
    label,
    startsOn: form.get("starts_on") ?? "",
    endsOn: form.get("ends_on") ?? "",
    skus: linesOf(form.get("skus") ?? ""),
    expects,
  });
  const overlaps = overlapsOf(event, await showSaleEvents(database, workspace));
  const sentences = [
    `${event.label} is saved, and counts from the next page and the next API request on.`,
    ...overlapSentences(overlaps),
  ];
  return { href: href(PATH), done: sentences.join(" ") };
}

function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

async function load(call: PageCall): Promise<Data> {
  const { database, workspace } = await call.acting();
  const { sku, product_gid: productGid } = call.query;
  const [events, skus] = await Promise.all([
    showSaleEvents(database, workspace),
    productGid === undefined ? [] : showSkusOfProduct(database, workspace, productGid),
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
  if (refusedForm?.action === ADD) return null;
  return refusedForm?.values.get("slug") ?? query["slug"] ?? null;
}

function missingNote({ changed }: Data, call: PageCall): Html | null {
  const slug = slugAsked(call);
  if (slug === null || changed !== null) return null;
  return html`${refusal(call, CHANGE) ?? html`<p class="banner warn">There is no sale event ${slug}.</p>`}`;
}

function offeredNote({ offered, events, changed }: Data): Html | null {
  if (offered.length === 0 || changed !== null) return null;
  const what = offered.length === 1 ? offered[0] : `${offered.length} SKUs`;
  return html`<p class="banner">
    ${what} can be put into a new sale event below${events.length > 0 && ", or into one of these"}.
  </p>`;
}

function addPart({ offered }: Data, call: PageCall): Html {
  return html`<h2>Add a sale event</h2>
    ${refusal(call, ADD)}
    ${actionForm(call, { path: PATH, button: "Add" }, [
      ...fields(call, ADD, null, offered),
      textField(call, ADD, {
        name: "slug",
        label: "Slug",
        hint: "What requests call it: letters, digits, dots, hyphens. Left empty, it is made of the name.",
        isRequired: false,
      }),
    ])}`;
}

function changePart(event: SaleEvent, { offered }: Data, call: PageCall): Html {
  const { slug, label } = event;
  return html`<h2>Change ${label}</h2>
    ${refusal(call, CHANGE)}
    ${actionForm(call, { path: `${PATH}/change`, button: "Save", kept: { slug } }, fields(call, CHANGE, event, offered))}
    <p><a href="${call.href(PATH)}">Leave it as it is</a></p>
    ${
      hasRight(call.role, REMOVE) &&
      html`<h2>Remove ${label}</h2>
        ${actionForm(call, { path: `${PATH}/remove`, button: "Remove this sale event", look: "danger", kept: { slug } })}`
    }`;
}

/** `event` null = a new one. */
function fields(call: PageCall, action: string, event: SaleEvent | null, offered: readonly string[]): Html[] {
  const own = event?.skus ?? [];
  const isWhole = event !== null && event.skus === null;
  const skus = isWhole ? [] : [...new Set([...own, ...offered])];
  return [
    textField(call, action, { name: "label", label: "Name", value: event?.label ?? "" }),
    textField(call, action, {
      name: "starts_on",
      label: "First day",
      type: "date",
      hint: "In UTC, as all days here.",
      value: event?.starts_on ?? "",
    }),
    textField(call, action, {
      name: "ends_on",
      label: "Last day",
      type: "date",
      hint: "It belongs to the sale.",
      value: event?.ends_on ?? "",
    }),
    areaField(call, action, {
      name: "skus",
      label: "SKUs in the sale, one per line",
      hint: "Left empty, the sale is of the whole store.",
      value: skus.join("\n"),
      isRequired: false,
    }),
  ];
}
