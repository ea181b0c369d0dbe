import { REFUND_ONLY, UNSPECIFIED } from "../../src/metrics/returned-units.ts";
import type { Connection } from "../../src/store/database.ts";
import { AS_OF, CURRENCY, FIRST_MONTH, LAST_MONTH } from "./store-plan.ts";
import type { StorePlan } from "./store-plan.ts";

const SKUS_PER_PRODUCT = 4;

/**
 * Writes the catalogue and the facts of one workspace as the projection would have left them, without order
 * documents: a few SKUs sell most, sales grow, a SKU has a return rate of its own (6–31 %), most returns come in the
 * first weeks. All numbers come from hashes of row numbers under the plan's seed.
 */
export async function writeStoreLines(
  connection: Connection,
  shopKey: number,
  plan: StorePlan,
): Promise<void> {
  const { client } = connection;
  await client.query("set local synchronous_commit = off; set local work_mem = '128MB'");
  await client.query(makeSkus(plan));
  await client.query(makeLines(plan));
  await client.query(makeReturns(plan));
  await client.query("analyze bench_sku, bench_line, bench_return");
  for (const statement of [...catalogueRows(shopKey), ...factRows(shopKey)]) await client.query(statement);
  await client.query("drop table bench_sku, bench_line, bench_return");
}

function makeSkus({ skus, families, categories, vendors, seed }: StorePlan): string {
  return `create temp table bench_sku as
    select n, product, 'SK' || lpad(n::text, 6, '0') as sku, 'gid://shopify/Product/' || 7000000000000 + product as product_gid,
           (4000000000000 + n)::text as variant_id, 'Product ' || product as product_title,
           (array['S', 'M', 'L', 'XL'])[1 + n % ${SKUS_PER_PRODUCT}] as variant_title,
           'Vendor ' || lpad((product % ${vendors})::text, 2, '0') as vendor,
           'Family ' || lpad((product % ${families})::text, 2, '0') as family,
           'Category ' || lpad((product % ${categories})::text, 2, '0') as category,
           n % 20 = 19 as used, case when n % 20 = 19 then 'SK' || lpad((n - 1)::text, 6, '0') end as counterpart_sku,
           price_minor, case when (h >> 20 & 1023) < 920 then price_minor * 2 / 5 end as unit_cost_minor,
           0.06 + 0.25 * (h >> 32 & 1023) / 1024.0::float8 as return_rate
      from (select n, n / ${SKUS_PER_PRODUCT} as product, h, 900 + (h & 16383)::integer as price_minor
              from generate_series(0, ${skus - 1}) n, hashint8extended(n, ${seed}) h) s`;
}

/** One to three lines an order, in the order of time. */
function makeLines({ lines, skus, seed }: StorePlan): string {
  const days = `(date '${LAST_MONTH}-01' + interval '1 month')::date - date '${FIRST_MONTH}-01'`;
  return `create temp table bench_line as
    select i, 5000000000000 + o as order_number,
           date '${FIRST_MONTH}-01' + floor((${days}) * power(o / ${Math.ceil(lines / 2) + 3}::float8, 0.8))::integer as ordered_on,
           floor(${skus} * power((h & 16777215) / 16777216.0::float8, 2.2))::integer as sku_number,
           case when (h >> 24 & 1023) < 5 then 0 when (h >> 24 & 1023) < 870 then 1
                when (h >> 24 & 1023) < 980 then 2 else 3 end as sold_units,
           (h >> 34 & 65535) / 65536.0::float8 as chance, hashint8extended(i, ${seed + 1}) as h
      from (select i, i / 6 * 3 + (array[0, 1, 1, 2, 2, 2])[1 + i % 6] as o, hashint8extended(i, ${seed}) as h
              from generate_series(0::bigint, ${lines - 1}) i) l`;
}

/**
 * One row per line that was returned, or only asked to be. `kind`: refund_only; at_once (closed and refunded on a
 * day); later (refunded days after); unrefunded (closed, an exchange); asked (a request that came to nothing so far).
 */
function makeReturns({ seed }: StorePlan): string {
  return `create temp table bench_return as
    select r.*, case when kind in ('at_once', 'refund_only') then returned_on
                     when kind = 'later' then returned_on + 1 + (h2 & 7)::integer end as refunded_on,
           least(sold_units, 1 + ((h2 >> 3 & 15) < 4)::integer) as units,
           (array['SIZE_TOO_SMALL', 'SIZE_TOO_SMALL', 'SIZE_TOO_LARGE', 'UNWANTED', 'UNWANTED', 'DEFECTIVE',
                  'NOT_AS_DESCRIBED', '${UNSPECIFIED}'])[1 + (h2 >> 7 & 7)] as reason,
           (h2 >> 10 & 15) < 12 as is_restocked,
           case when kind not in ('refund_only', 'asked') and (h2 >> 14 & 15) < 11 then 450 + (h2 >> 18 & 511)::integer end as label_minor
      from (select l.*, s.price_minor, hashint8extended(i, ${seed + 2}) as h2,
                   ordered_on + 2 + floor(-18 * ln(1 - 0.998 * (l.h & 65535) / 65536.0::float8))::integer as returned_on,
                   case when chance >= return_rate then 'asked' when (l.h >> 16 & 1023) < 205 then 'refund_only'
                        when (l.h >> 16 & 1023) < 563 then 'at_once' when (l.h >> 16 & 1023) < 870 then 'later'
                        else 'unrefunded' end as kind
              from bench_line l join bench_sku s on s.n = l.sku_number
             where sold_units > 0 and chance < return_rate + 0.02) r
     where returned_on <= date '${AS_OF.toISOString().slice(0, 10)}'`;
}

function catalogueRows(shopKey: number): string[] {
  return [
    `insert into product (shop_key, product_gid, title, handle, vendor, family, analytics_category, image_url)
     select ${shopKey}, product_gid, min(product_title), 'product-' || product, min(vendor), min(family), min(category),
            'https://images.example/' || product || '.png'
       from bench_sku group by product, product_gid`,
    `insert into variant (shop_key, variant_id, product_gid, sku, title, used, counterpart_sku, unit_cost_minor)
     select ${shopKey}, variant_id, product_gid, sku, variant_title, used, counterpart_sku, unit_cost_minor from bench_sku`,
  ];
}

const REFUNDED = "refunded_on is not null and refunded_on <= date '" + AS_OF.toISOString().slice(0, 10) + "'";
const COHORT_MONTH = "date_trunc('month', ordered_on::timestamp)::date";
const LINE_KEY = "order_number::text, (13000000000000 + i)::text";

function factRows(shopKey: number): string[] {
  return [
    `insert into order_line (shop_key, order_id, line_id, ordered_on, cohort_month, sold_units, line_product_gid,
                             line_variant_id, line_sku, line_title, line_vendor, product_gid, sku, used, counterpart_sku,
                             unit_cost_minor)
     select ${shopKey}, ${LINE_KEY}, ordered_on, date_trunc('month', ordered_on::timestamp)::date, sold_units, product_gid,
            variant_id, sku, product_title, vendor, product_gid, sku, used,
            case when used then counterpart_sku end, unit_cost_minor
       from bench_line l join bench_sku s on s.n = l.sku_number order by i`,
    `insert into return_event (shop_key, order_id, line_id, event_number, cohort_month, lag_days, occurred_on, reason,
                               returned_units, refunded_units, restocked_units, refund_minor)
     select ${shopKey}, ${LINE_KEY}, 0, ${COHORT_MONTH}, returned_on - ordered_on, returned_on,
            case kind when 'refund_only' then '${REFUND_ONLY}' else reason end, units,
            case when is_refunded then units else 0 end, case when is_refunded and is_restocked then units else 0 end,
            case when is_refunded then units * price_minor else 0 end
       from (select *, kind in ('at_once', 'refund_only') as is_refunded from bench_return where kind <> 'asked') r order by i`,
    `insert into return_event (shop_key, order_id, line_id, event_number, cohort_month, lag_days, occurred_on, reason,
                               returned_units, refunded_units, restocked_units, refund_minor)
     select ${shopKey}, ${LINE_KEY}, 1, ${COHORT_MONTH}, refunded_on - ordered_on, refunded_on, null, 0, units,
            case when is_restocked then units else 0 end, units * price_minor
       from bench_return where kind = 'later' and ${REFUNDED} order by i`,
    `insert into return_request (shop_key, order_id, line_id, return_id, cohort_month, status, units)
     select ${shopKey}, ${LINE_KEY}, (9000000000000 + i)::text, ${COHORT_MONTH},
            case kind when 'asked' then (array['REQUESTED', 'OPEN', 'DECLINED', 'CANCELED'])[1 + (h2 >> 30 & 3)] else 'CLOSED' end,
            units
       from bench_return where kind <> 'refund_only' order by i`,
    `insert into return_label (shop_key, source, label_id, return_id, charged_at, amount_minor, currency_code)
     select ${shopKey}, 'csv_labels', 'L' || i, (9000000000000 + i)::text, returned_on, label_minor, '${CURRENCY}'
       from bench_return where label_minor is not null
      union all
     select ${shopKey}, 'csv_labels', 'U' || i, null, returned_on, label_minor, '${CURRENCY}'
       from bench_return where label_minor is not null and i % 100 = 0`,
    `insert into label_share (shop_key, order_id, line_id, source, label_id, cohort_month, lag_days, label_minor)
     select ${shopKey}, ${LINE_KEY}, 'csv_labels', 'L' || i, ${COHORT_MONTH}, returned_on - ordered_on, label_minor
       from bench_return where label_minor is not null order by i`,
  ];
}
