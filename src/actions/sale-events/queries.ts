import { query, queryColumn, queryRow, requireValue } from "../../store/query.ts";
import type { SaleEventRow } from "../../store/queries/report-figures.ts";

const COLUMNS = "slug, label, starts_on, ends_on, skus";

/** Creates or replaces a sale event; true when it is new. */
export const putSaleEvent = requireValue<boolean, [shopKey: number, event: SaleEventRow]>(
  "put_sale_event",
  `insert into sale_event (shop_key, slug, label, starts_on, ends_on, skus) values ($1, $2, $3, $4, $5, $6)
         on conflict (shop_key, slug) do update
            set label = excluded.label, starts_on = excluded.starts_on, ends_on = excluded.ends_on,
                skus = excluded.skus
         returning (xmax = 0) as is_new`,
  ["slug", "label", "starts_on", "ends_on", "skus"],
);

/** Removes a sale event and returns it; null when there is none of that slug. */
export const deleteSaleEvent = queryRow<SaleEventRow, [shopKey: number, slug: string]>(
  "delete_sale_event",
  `delete from sale_event where shop_key = $1 and slug = $2 returning ${COLUMNS}`,
);

/** One sale event by its primary key. */
export const findSaleEvent = queryRow<SaleEventRow, [shopKey: number, slug: string]>(
  "find_sale_event",
  `select ${COLUMNS} from sale_event where shop_key = $1 and slug = $2`,
);

/** The SKUs of a product in new condition: index sku_by_product. */
export const skusOfProduct = queryColumn<string, [shopKey: number, productGid: string]>(
  "skus_of_product",
  `select s.sku from sku s where s.shop_key = $1 and s.product_gid = $2 and not s.used order by s.sku`,
);

/** The workspace's sale events by first day. */
export const listSaleEvents = query<SaleEventRow, [shopKey: number]>(
  "list_sale_events",
  `select ${COLUMNS} from sale_event
          where shop_key = $1 order by starts_on, slug`,
);

/** SKUs that the workspace has never had: one look-up each in sku's primary key. */
export const unknownSkus = queryColumn<string, [shopKey: number, skus: readonly string[]]>(
  "unknown_skus",
  `select wanted.sku from unnest($2::text[]) with ordinality wanted (sku, position)
          where not exists (select from sku s where s.shop_key = $1 and s.sku = wanted.sku)
          order by wanted.position`,
);
