import type { Connection, Database, Queryable } from "../store/database.ts";
import {
  deleteSaleEvent,
  findSaleEvent,
  listSaleEvents,
  putSaleEvent,
  skusOfProduct,
  unknownSkus,
} from "../store/queries/sale-event-write.ts";
import type { SaleEventRow } from "../store/queries/report-figures.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import { raiseDataVersion } from "../store/queries/data-version.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import { requireRight } from "./rights.ts";
import { quoted, readDay, readText } from "./input.ts";
import { impossible, invalid } from "./refusal.ts";

/** Days as YYYY-MM-DD, both included; no SKUs = the whole workspace. */
export type SaleEventToAdd = {
  slug: string;
  label: string;
  startsOn: string;
  endsOn: string;
  skus: readonly string[];
  /** Whether there must be none of its slug yet ("new"), or one ("known"); left out = either. */
  expects?: "new" | "known" | undefined;
};

const SLUG = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/u;
const LABEL_MAX_LENGTH = 200;

/** Creates a sale event (M15), or replaces the one with its slug. Reports show it from their next request on. */
export async function addSaleEvent(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  request: SaleEventToAdd,
): Promise<{ event: SaleEventRow; isNew: boolean }> {
  requireRight(actor, "sale_event.add");
  const event = readSaleEvent(request);
  const { shop_key: shopKey } = workspace;
  const isNew = await database.transaction(async (connection) => {
    await requireSkus(connection, workspace, event.skus ?? []);
    const before = await findSaleEvent(connection, shopKey, event.slug);
    const created = await putSaleEvent(connection, shopKey, event);
    requireExpected(request.expects, created, event.slug);
    await raiseDataVersion(connection, shopKey);
    await recordAction(connection, actor, {
      shopKey,
      action: "sale_event.add",
      detail: event,
      ...(before === null ? {} : { before }),
    });
    return created;
  });
  return { event, isNew };
}

/** Removes a sale event; `removed` is false when there was none of that slug. */
export async function removeSaleEvent(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  slug: string,
): Promise<{ slug: string; removed: boolean }> {
  requireRight(actor, "sale_event.remove");
  const { shop_key: shopKey } = workspace;
  const removed = await database.transaction(async (connection) => {
    const before = await deleteSaleEvent(connection, shopKey, slug);
    if (before === null) return false;
    await raiseDataVersion(connection, shopKey);
    await recordAction(connection, actor, { shopKey, action: "sale_event.remove", detail: { slug }, before });
    return true;
  });
  return { slug, removed };
}

/** The workspace's sale events by first day. */
export async function showSaleEvents(database: Database, workspace: WorkspaceRow): Promise<SaleEventRow[]> {
  return listSaleEvents(database, workspace.shop_key);
}

/** The SKUs in new condition of a product of the catalogue. */
export async function showSkusOfProduct(
  database: Queryable,
  workspace: WorkspaceRow,
  productGid: string,
): Promise<string[]> {
  return skusOfProduct(database, workspace.shop_key, productGid);
}

/** A slug made of a name: "Black Friday 2026" → "black-friday-2026"; "" where no letter or digit of it can stand in one. */
export function slugOf(label: string): string {
  return label
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/gu, "-")
    .replaceAll(/^-|-$/gu, "")
    .slice(0, 100);
}

/** Days that two sale events share, both included. */
export type Overlap = { label: string; startsOn: string; endsOn: string };

/** The other events that share days with one, by first day. */
export function overlapsOf(event: SaleEventRow, events: readonly SaleEventRow[]): Overlap[] {
  return events.flatMap(({ slug, label, starts_on, ends_on }) => {
    const startsOn = starts_on > event.starts_on ? starts_on : event.starts_on;
    const endsOn = ends_on < event.ends_on ? ends_on : event.ends_on;
    return slug === event.slug || startsOn > endsOn ? [] : [{ label, startsOn, endsOn }];
  });
}

const MOST_NAMED = 5;

async function requireSkus(
  connection: Connection,
  { shop_key: shopKey, shop_domain: shopDomain }: WorkspaceRow,
  skus: readonly string[],
): Promise<void> {
  const unknown = await unknownSkus(connection, shopKey, skus);
  if (unknown.length === 0) return;
  const named = unknown.slice(0, MOST_NAMED).map(quoted).join(", ");
  const more = unknown.length > MOST_NAMED ? ` and ${unknown.length - MOST_NAMED} more` : "";
  throw impossible(`The catalogue of ${shopDomain} has no sku ${named}${more}.`);
}

function requireExpected(expects: SaleEventToAdd["expects"], isNew: boolean, slug: string): void {
  if (expects === "new" && !isNew) {
    throw impossible(
      `There is already a sale event ${slug}: change that one, or give this one another slug.`,
    );
  }
  if (expects === "known" && isNew) throw impossible(`There is no sale event ${slug} any more.`);
}

function readSaleEvent(request: SaleEventToAdd): SaleEventRow {
  if (!SLUG.test(request.slug)) {
    throw invalid("The slug must be 1 to 100 letters, digits, dots, hyphens or underscores.");
  }
  const startsOn = readDay("The first day", request.startsOn);
  const endsOn = readDay("The last day", request.endsOn);
  if (endsOn < startsOn) throw invalid("The last day must not be before the first day.");
  const skus = [...new Set(request.skus)];
  return {
    slug: request.slug,
    label: readText("The label", request.label, LABEL_MAX_LENGTH),
    starts_on: startsOn,
    ends_on: endsOn,
    skus: skus.length === 0 ? null : skus,
  };
}
