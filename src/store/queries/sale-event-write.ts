import { defineStatement } from "../database.ts";
import type { Queryable } from "../database.ts";

/** Days as YYYY-MM-DD, both included; skus null = the whole workspace. */
export type SaleEventRow = {
  slug: string;
  label: string;
  starts_on: string;
  ends_on: string;
  skus: string[] | null;
};

const PUT_SALE_EVENT = defineStatement({
  name: "put_sale_event",
  text: `insert into sale_event (shop_key, slug, label, starts_on, ends_on, skus) values ($1, $2, $3, $4, $5, $6)
         on conflict (shop_key, slug) do update
            set label = excluded.label, starts_on = excluded.starts_on, ends_on = excluded.ends_on,
                skus = excluded.skus
         returning (xmax = 0) as is_new`,
});

/** Creates or replaces a sale event; true when it is new. */
export async function putSaleEvent(
  database: Queryable,
  shopKey: number,
  event: SaleEventRow,
): Promise<boolean> {
  const [row] = await database.rows<{ is_new: boolean }>(PUT_SALE_EVENT, [
    shopKey,
    event.slug,
    event.label,
    event.starts_on,
    event.ends_on,
    event.skus,
  ]);
  return row?.is_new === true;
}

const DELETE_SALE_EVENT = defineStatement({
  name: "delete_sale_event",
  text: "delete from sale_event where shop_key = $1 and slug = $2 returning 1 as gone",
});

/** Removes a sale event; false when there is none of that slug. */
export async function deleteSaleEvent(database: Queryable, shopKey: number, slug: string): Promise<boolean> {
  return (await database.rows(DELETE_SALE_EVENT, [shopKey, slug])).length > 0;
}

const LIST_SALE_EVENTS = defineStatement({
  name: "list_sale_events",
  text: `select slug, label, starts_on, ends_on, skus from sale_event
          where shop_key = $1 order by starts_on, slug`,
});

/** The workspace's sale events by first day. */
export async function listSaleEvents(database: Queryable, shopKey: number): Promise<SaleEventRow[]> {
  return database.rows(LIST_SALE_EVENTS, [shopKey]);
}

const UNKNOWN_SKUS = defineStatement({
  name: "unknown_skus",
  text: `select wanted.sku from unnest($2::text[]) with ordinality wanted (sku, position)
          where not exists (select from sku s where s.shop_key = $1 and s.sku = wanted.sku)
          order by wanted.position`,
});

/** Those of the SKUs that the workspace never had: one look-up in sku's primary key each. */
export async function unknownSkus(
  database: Queryable,
  shopKey: number,
  skus: readonly string[],
): Promise<string[]> {
  const rows = await database.rows<{ sku: string }>(UNKNOWN_SKUS, [shopKey, skus]);
  return rows.map((row) => row.sku);
}
