import { REFUND_ONLY } from "../../src/metrics/returned-units.ts";
import type { Database } from "../../src/store/database.ts";
import { SHARINGS } from "./question.ts";
import type { Dialect, Months, Question, Row, Sharing, Subject } from "./question.ts";

/**
 * What a team would write otherwise: the orders, returns and refunds of one shop in tables of their own, in the same
 * PostgreSQL, with an index for each way of asking. Narrow numeric keys and one shop only, to its advantage.
 */
export async function loadNormalized(database: Database, shopKey: number): Promise<void> {
  await database.transaction(async ({ client }) => {
    await client.query("set local synchronous_commit = off; set local work_mem = '128MB'");
    await client.query("drop schema if exists rival cascade; create schema rival");
    for (const statement of tables(shopKey)) await client.query(statement);
    await client.query("set local maintenance_work_mem = '512MB'");
    for (const statement of INDEXES) await client.query(statement);
  });
  for (const table of TABLES) {
    await database.rows({ name: `rival_vacuum_${table}`, text: `vacuum analyze rival.${table}` }, []);
  }
}

const TABLES = [
  "product",
  "variant",
  "orders",
  "order_line",
  "returns",
  "return_line",
  "refund",
  "refund_line",
  "label",
];

function tables(shopKey: number): string[] {
  const linked = `e.reason is distinct from '${REFUND_ONLY}'`;
  return [
    `create table rival.product as
      select right(product_gid, 13)::bigint as product_id, title, vendor, family, analytics_category as category
        from product where shop_key = ${shopKey}`,
    `create table rival.variant as
      select variant_id::bigint, right(product_gid, 13)::bigint as product_id, sku, used, unit_cost_minor
        from variant where shop_key = ${shopKey}`,
    `create table rival.orders as
      select distinct order_id::bigint, ordered_on::timestamptz as ordered_at
        from order_line where shop_key = ${shopKey} order by 1`,
    `create table rival.order_line as
      select line_id::bigint, order_id::bigint, line_variant_id::bigint as variant_id, greatest(sold_units, 1) as units,
             greatest(sold_units, 1) - sold_units as removed_units
        from order_line where shop_key = ${shopKey} order by 1`,
    `create table rival.returns as
      select r.return_id::bigint, r.order_id::bigint, r.status, e.occurred_on::timestamptz as closed_at
        from return_request r
        left join return_event e on e.shop_key = r.shop_key and e.order_id = r.order_id and e.line_id = r.line_id
         and e.event_number = 0 and r.status = 'CLOSED'
       where r.shop_key = ${shopKey} order by 1`,
    `create table rival.return_line as
      select r.return_id::bigint, r.line_id::bigint, r.units, ltrim(e.reason) as reason
        from return_request r
        left join return_event e on e.shop_key = r.shop_key and e.order_id = r.order_id and e.line_id = r.line_id
         and e.event_number = 0
       where r.shop_key = ${shopKey} order by 1`,
    `create table rival.refund as
      select e.line_id::bigint * 2 + e.event_number as refund_id, e.order_id::bigint, e.occurred_on::timestamptz as refunded_at,
             case when ${linked} then r.return_id::bigint end as return_id
        from return_event e
        left join return_request r on r.shop_key = e.shop_key and r.order_id = e.order_id and r.line_id = e.line_id
       where e.shop_key = ${shopKey} and e.refunded_units > 0 order by 1`,
    `create table rival.refund_line as
      select line_id::bigint * 2 + event_number as refund_id, line_id::bigint, refunded_units as units,
             refund_minor as subtotal_minor, case when restocked_units > 0 then 'RETURN' else 'NO_RESTOCK' end as restock_type
        from return_event where shop_key = ${shopKey} and refunded_units > 0 order by 1`,
    `create table rival.label as
      select label_id, return_id::bigint, charged_at, amount_minor from return_label where shop_key = ${shopKey}`,
  ];
}

const INDEXES = [
  "alter table rival.product add primary key (product_id)",
  "alter table rival.variant add primary key (variant_id)",
  "alter table rival.orders add primary key (order_id)",
  "alter table rival.order_line add primary key (line_id)",
  "alter table rival.returns add primary key (return_id)",
  "alter table rival.return_line add primary key (return_id, line_id)",
  "alter table rival.refund add primary key (refund_id)",
  "alter table rival.refund_line add primary key (refund_id, line_id)",
  "alter table rival.label add primary key (label_id)",
  "create index on rival.product (family)",
  "create index on rival.product (vendor)",
  "create index on rival.variant (product_id)",
  "create index on rival.variant (sku)",
  "create index on rival.orders (ordered_at)",
  "create index on rival.order_line (order_id)",
  "create index on rival.order_line (variant_id)",
  "create index on rival.returns (order_id)",
  "create index on rival.return_line (line_id)",
  "create index on rival.refund (return_id)",
  "create index on rival.refund (order_id)",
  "create index on rival.refund_line (line_id)",
  "create index on rival.label (return_id)",
  "create index on rival.label (charged_at)",
];

/** Asks the statements of a question, each prepared once on a connection; returns their rows. */
export async function askNormalized(
  database: Database,
  question: Question,
  sharing: Sharing,
): Promise<Row[][]> {
  const results: Row[][] = [];
  for (const [index, text] of question.statements(dialectOf(sharing)).entries()) {
    const name = `rival ${SHARINGS.indexOf(sharing)} ${index} ${question.name}`;
    results.push(await database.rows<Row>({ name, text }, []));
  }
  return results;
}

// The rule of M2 in its short form, which is right for this data: no refund of a return comes before its closing, and
// nothing exceeds its line.
const dialectOf = (sharing: Sharing): Dialect => ({
  lines: (subject, months) => `
  with line ${sharing} (
    select l.line_id, o.ordered_at::date as ordered_on, date_trunc('month', o.ordered_at)::date as month, v.sku,
           v.unit_cost_minor, l.units - l.removed_units as sold_units
      from rival.orders o
      join rival.order_line l on l.order_id = o.order_id
      join rival.variant v on v.variant_id = l.variant_id
      join rival.product p on p.product_id = v.product_id
     where o.ordered_at >= '${months.from}' and o.ordered_at < '${months.to}' and l.units > l.removed_units
       ${condition(subject)}
  ), returned ${sharing} (
    select l.line_id, l.month, l.sku, r.closed_at::date - l.ordered_on as lag_days, rl.reason, rl.units
      from line l join rival.return_line rl on rl.line_id = l.line_id
      join rival.returns r on r.return_id = rl.return_id
     where r.status = 'CLOSED'
    union all
    select l.line_id, l.month, l.sku, f.refunded_at::date - l.ordered_on, 'refund_only', fl.units
      from line l join rival.refund_line fl on fl.line_id = l.line_id
      join rival.refund f on f.refund_id = fl.refund_id
     where f.return_id is null
  ), refunded ${sharing} (
    select l.line_id, l.month, l.sku, f.refunded_at::date - l.ordered_on as lag_days, fl.units,
           fl.subtotal_minor as refund_minor,
           case when fl.restock_type = 'RETURN' then fl.units * l.unit_cost_minor end as restocked_cost_minor
      from line l join rival.refund_line fl on fl.line_id = l.line_id
      join rival.refund f on f.refund_id = fl.refund_id
  ), labeled ${sharing} (
    select l.line_id, l.month, l.sku, b.charged_at::date - l.ordered_on as lag_days, b.amount_minor as label_minor
      from line l join rival.return_line rl on rl.line_id = l.line_id
      join rival.label b on b.return_id = rl.return_id
  ), requested ${sharing} (
    select r.status, rl.units
      from line l join rival.return_line rl on rl.line_id = l.line_id
      join rival.returns r on r.return_id = rl.return_id
  )`,
  unmatchedLabels: ({ from, to }: Months) => `
    select coalesce(sum(b.amount_minor), 0) as label_minor from rival.label b
     where b.return_id is null and b.charged_at >= '${from}' and b.charged_at < '${to}'`,
});

function condition(subject: Subject): string {
  switch (subject.kind) {
    case "workspace":
      return "";
    case "sku":
      return `and v.sku = '${subject.key}'`;
    case "product":
      return `and v.product_id = ${subject.key.slice(-13)} and not v.used`;
    case "family":
      return `and p.family = '${subject.key}'`;
    case "vendor":
      return `and p.vendor = '${subject.key}'`;
  }
}
