import { day as shownDay } from "../../console/format.ts";
import { quoted, readOneOf } from "../input.ts";
import { impossible, invalid } from "../refusal.ts";
import {
  measureSaleEvents,
  MOST_SALE_EVENTS,
  MOST_SALE_SKU_BYTES,
  raiseDataVersion,
} from "../../store/queries/publish.ts";
import type { SaleEventRow } from "../../store/queries/report-figures.ts";
import { deleteSaleEvent, findSaleEvent, listSaleEvents, putSaleEvent, unknownSkus } from "./queries.ts";
import { defineAction, defineList, type ActionContext } from "../action.ts";
import { anyText, day, lines, optional, own, text } from "../field.ts";

const SLUG = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/u;
const LABEL_MAX_LENGTH = 200;
const MOST_NAMED = 5;

/** The workspace's sale events by first day. */
export const saleEventList = defineList<SaleEventRow>({
  name: "sale_events.read",
  about: "Show a workspace's sale days.",
  past: "Read the list of sale days",
  least: "viewer",
  columns: {
    slug: "slug",
    label: "label",
    "starts on": "starts_on",
    "ends on": "ends_on",
    skus: ({ skus }) => skus ?? "all",
  },
  rows: ({ database, workspace }) => listSaleEvents(database, workspace.shop_key),
});

/** Creates a sale event (M15), or replaces the one with its slug. Reports show it from their next request on. */
export const addSaleEvent = defineAction({
  name: "sale_event.add",
  title: "Add sale days",
  about: "Add the days of a sale, or replace those of the sale with that slug.",
  past: "Added or changed sale days",
  least: "admin",
  input: {
    label: text("Name", LABEL_MAX_LENGTH),
    starts_on: day("First day", { hint: "First day of the sale, in UTC." }),
    ends_on: day("Last day", { hint: "Last day of the sale, included." }),
    skus: lines("SKUs in the sale, one per line", {
      hint: "SKUs in the sale. Without any, the sale covers the whole store.",
      option: "sku",
    }),
    slug: optional(
      own("Slug", readSlug, {
        hint: "Identifies the sale in requests: letters, digits, dots, hyphens. If left empty, it is derived from the name.",
      }),
    ),
    /** Whether there must be none of its slug yet ("new"), or one ("known"); left out = either. */
    expects: optional(
      own("The form", (subject, expected) => readOneOf(subject, expected, ["new", "known"] as const), {
        kind: "hidden",
        only: "form",
      }),
    ),
  },
  run: async (context, { label, starts_on, ends_on, skus, slug, expects }) => {
    if (ends_on < starts_on) throw invalid("The last day must not be before the first day.", "ends_on");
    const event: SaleEventRow = {
      slug: slug ?? readSlug("Slug", slugOf(label)),
      label,
      starts_on,
      ends_on,
      skus: skus.length === 0 ? null : [...new Set(skus)],
    };
    const { connection, shopKey } = context;
    await requireSkus(context, event.skus ?? []);
    const before = await findSaleEvent(connection, shopKey, event.slug);
    const isNew = await putSaleEvent(connection, shopKey, event);
    requireExpected(expects, isNew, event.slug);
    // It locks the workspace: of two at the same time, the second counts the first.
    await raiseDataVersion(connection, shopKey);
    await requireRoom(context, isNew);
    const overlaps = overlapsOf(event, await listSaleEvents(connection, shopKey));
    return {
      result: event,
      done: [`${isNew ? "Added" : "Changed"} the sale days ${label}.`, ...overlaps].join(" "),
      audit: { detail: event, ...(before === null ? {} : { before }) },
    };
  },
});

export const removeSaleEvent = defineAction({
  name: "sale_event.remove",
  title: "Remove sale days",
  about: "Remove the days of a sale.",
  past: "Removed sale days",
  least: "admin",
  input: {
    slug: anyText("Slug", { kind: "hidden", hint: "its slug, from `sale-event list`" }),
  },
  confirm: ({ slug }) => `Remove the sale days ${slug}?`,
  run: async ({ connection, shopKey }, { slug }) => {
    const before = await deleteSaleEvent(connection, shopKey, slug);
    if (before === null) {
      return {
        result: { slug, removed: false },
        done: `There are no sale days ${quoted(slug)}.`,
        audit: null,
      };
    }
    await raiseDataVersion(connection, shopKey);
    return {
      result: { slug, removed: true },
      done: `Removed the sale days ${before.label}.`,
      audit: { detail: { slug }, before },
    };
  },
});

export const SALE_EVENT_ACTIONS = [addSaleEvent, removeSaleEvent] as const;

/** Each in its own sentence: a page shows those of up to 1,000 events. */
const MOST_OVERLAPS = 3;

/** In a sentence each, by first day, the days that an event shares with others, and how many more of them there are. */
export function overlapsOf(event: SaleEventRow, events: readonly SaleEventRow[]): string[] {
  const others = events.filter(
    ({ slug, starts_on, ends_on }) =>
      slug !== event.slug && starts_on <= event.ends_on && ends_on >= event.starts_on,
  );
  const sentences = others.slice(0, MOST_OVERLAPS).map(({ label, starts_on, ends_on }) => {
    const startsOn = starts_on > event.starts_on ? starts_on : event.starts_on;
    const endsOn = ends_on < event.ends_on ? ends_on : event.ends_on;
    const verb = startsOn === endsOn ? "is" : "are";
    return `It overlaps ${label}: ${daysText(startsOn, endsOn)} ${verb} in both.`;
  });
  const rest = others.length - sentences.length;
  return rest === 0 ? sentences : [...sentences, `It overlaps ${rest.toLocaleString("en")} more.`];
}

export function daysText(first: string, last: string): string {
  const [from, to] = [shownDay(first) as string, shownDay(last) as string];
  return from === to ? from : `${from} to ${to}`;
}

function readSlug(subject: string, given: string): string {
  const slug = given.trim();
  if (SLUG.test(slug)) return slug;
  throw invalid(`${subject} must be 1 to 100 letters, digits, dots, hyphens or underscores.`);
}

/** A slug derived from a name: "Black Friday 2026" → "black-friday-2026"; "" if no letter or digit can be used. */
function slugOf(label: string): string {
  return label
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/gu, "-")
    .replaceAll(/^-|-$/gu, "")
    .slice(0, 100);
}

async function requireSkus(
  { connection, shopKey, domain }: ActionContext,
  skus: readonly string[],
): Promise<void> {
  const unknown = await unknownSkus(connection, shopKey, skus);
  if (unknown.length === 0) return;
  const named = unknown.slice(0, MOST_NAMED).map(quoted).join(", ");
  const more = unknown.length > MOST_NAMED ? ` and ${unknown.length - MOST_NAMED} more` : "";
  throw impossible(`The catalogue of ${domain} has no sku ${named}${more}.`, "skus");
}

/** The limits of an import, which would be refused beyond them. */
async function requireRoom({ connection, shopKey }: ActionContext, isNew: boolean): Promise<void> {
  const { count, sku_bytes: skuBytes } = await measureSaleEvents(connection, shopKey);
  if (isNew && count > MOST_SALE_EVENTS) {
    throw impossible(
      `A workspace has at most ${MOST_SALE_EVENTS.toLocaleString("en")} sales: remove the days of one first.`,
    );
  }
  if (skuBytes > MOST_SALE_SKU_BYTES) {
    throw impossible(
      `The sales of a workspace name at most ${MOST_SALE_SKU_BYTES / 1024 ** 2} MiB of SKUs: one without any covers the whole store.`,
      "skus",
    );
  }
}

function requireExpected(expects: "new" | "known" | null, isNew: boolean, slug: string): void {
  if (expects === "new" && !isNew) {
    throw impossible(`Sale days ${quoted(slug)} exist already: change those, or give these another slug.`);
  }
  if (expects === "known" && isNew) throw impossible(`Sale days ${quoted(slug)} no longer exist.`);
}
