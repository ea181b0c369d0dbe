import type { Connection, Database } from "../store/database.ts";
import {
  deleteSaleEvent,
  listSaleEvents,
  putSaleEvent,
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
  const { shop_key: shopKey, shop_domain: shopDomain } = workspace;
  const isNew = await database.transaction(async (connection) => {
    const [unknown] = await unknownSkus(connection, shopKey, event.skus ?? []);
    if (unknown !== undefined) {
      throw impossible(`The catalogue of ${shopDomain} has no sku ${quoted(unknown)}.`);
    }
    const earlier = await findSaleEvent(connection, shopKey, event.slug);
    const created = await putSaleEvent(connection, shopKey, event);
    await raiseDataVersion(connection, shopKey);
    await recordAction(connection, actor, {
      shopKey,
      action: "sale_event.add",
      detail: event,
      ...(earlier === undefined ? {} : { before: earlier }),
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
    const before = await findSaleEvent(connection, shopKey, slug);
    if (before === undefined || !(await deleteSaleEvent(connection, shopKey, slug))) return false;
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

async function findSaleEvent(
  connection: Connection,
  shopKey: number,
  slug: string,
): Promise<SaleEventRow | undefined> {
  return (await listSaleEvents(connection, shopKey)).find((event) => event.slug === slug);
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
