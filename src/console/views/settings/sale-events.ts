import { hasRight } from "../../../control/rights.ts";
import { overlapsOf } from "../../../control/sale-event.ts";
import type { Overlap, showSaleEvents } from "../../../control/sale-event.ts";
import { html } from "../../../lib/html.ts";
import type { Html } from "../../../lib/html.ts";
import { count, day } from "../../format.ts";
import type { PageCall } from "../../page.ts";
import { entries } from "../entries.ts";

export type SaleEvent = Awaited<ReturnType<typeof showSaleEvents>>[number];

/** Every event: its days, what it is of, and with which others it shares days. */
export function eventEntries(
  { events, offered }: { events: readonly SaleEvent[]; offered: readonly string[] },
  call: PageCall,
): Html {
  return entries(
    events.map((event) => ({
      name: html`<a href="${call.href("/report", { saleEvent: event.slug })}">${event.label}</a>`,
      detail: html`${daysText(event.starts_on, event.ends_on)} · ${scopeText(event)}
      ${overlapSentences(overlapsOf(event, events)).map((sentence) => html`<br />${sentence}`)}`,
      actions: hasRight(call.role, "sale_event.add") ? [changeLink(event, offered, call)] : [],
    })),
  );
}

/** Keeps what a report wants to be put into an event. */
function changeLink({ slug, label, skus }: SaleEvent, offered: readonly string[], call: PageCall): Html {
  const { sku, product_gid } = call.query;
  const adds = offered.length > 0 && skus !== null;
  const href = call.href("/settings/sale-events", adds ? { slug, sku, product_gid } : { slug });
  return adds
    ? html`<a href="${href}">Add to ${label}</a>`
    : html`<a href="${href}" aria-label="Change ${label}">Change</a>`;
}

export function overlapSentences(overlaps: readonly Overlap[]): string[] {
  return overlaps.map(
    ({ label, startsOn, endsOn }) =>
      `It overlaps ${label}: ${daysText(startsOn, endsOn)} ${startsOn === endsOn ? "is" : "are"} in both.`,
  );
}

function daysText(first: string, last: string): string {
  const [from, to] = [day(first) as string, day(last) as string];
  return from === to ? from : `${from} to ${to}`;
}

function scopeText({ skus }: SaleEvent): string {
  if (skus === null) return "the whole store";
  return skus.length === 1 ? (skus[0] ?? "") : `${count(skus.length) as string} SKUs`;
}
