import type { Readable } from "node:stream";
import { copy, query, type CopyForm } from "../query.ts";
import type { Connection } from "../database.ts";
import type { Workspace } from "../workspace.ts";
import { dayToText } from "../../lib/month.ts";
import { columnsInside, daysOrAll, placeInside } from "./return-curve.ts";

/** `first` and `last`: first days of months, both included. */
type CopyTable = (
  connection: Connection,
  form: CopyForm,
  workspace: Workspace,
  first: string,
  last: string,
) => Promise<Readable>;

const COHORT_SUMS = [
  "sold_units",
  "returned_units",
  "refunded_units",
  "refund_minor",
  "label_minor",
  "restocked_units",
  "restocked_cost_minor",
  "costed_sold_units",
  "costed_returned_units",
  "sold_minor",
  "valued_sold_units",
];
const MONEY_NAMES: Readonly<Record<string, string>> = {
  refund_minor: "refund_amount",
  label_minor: "label_cost",
  restocked_cost_minor: "restocked_cost",
  sold_minor: "sold_amount",
};

const copyCohortRows = copy<
  [shopKey: number, first: string, last: string, primary: number, asOf: string | null, allDays: number]
>(
  "exported_cohort",
  `with span (name, days) as (values ('30d', 30), ('90d', 90), ('primary', $4::integer), ('lifetime', null))
   select case c.entity_kind when 'product_used' then 'product' else c.entity_kind end as entity_type,
          nullif(c.entity_key, '') as entity_key,
          case c.entity_kind when 'product' then false when 'product_used' then true end as is_used,
          c.cohort_month, w.name as "window", w.days as window_days,
          case when w.days is not null
               then coalesce($5::date > (c.cohort_month + interval '1 month')::date - 1 + w.days, false) end as is_complete,
          ${COHORT_SUMS.map((name) => `sum(i.${name}) as ${MONEY_NAMES[name] ?? name}`).join(", ")}
     from cohort c
    cross join span w
    cross join lateral (
      select ${columnsInside("c", COHORT_SUMS)} from ${placeInside("c", "coalesce(w.days, $6)")}
    ) i
    where c.shop_key = $1 and c.cohort_month between $2::date and $3::date
      and c.entity_kind in ('sku', 'product', 'product_used', 'family', 'analytics_category', 'vendor', 'workspace')
    group by c.entity_kind, c.cohort_month, c.entity_key, w.name, w.days
    order by c.entity_kind, c.cohort_month, c.entity_key, w.name`,
);

const copyOrderLineRows = copy<[shopKey: number, first: string, last: string]>(
  "exported_order_line",
  `select l.order_id, l.line_id, l.ordered_on as order_date, l.cohort_month, l.sold_units, l.sold_minor as sold_amount,
          l.unit_cost_minor as unit_cost, l.sku, l.variant_id, l.product_gid, l.used as is_used, l.counterpart_sku,
          case when l.product_gid is null then l.line_vendor else p.vendor end as vendor, p.family, p.analytics_category,
          v.options::text as options
     from order_line l
     left join product p on p.shop_key = $1 and p.product_gid = l.product_gid
     left join variant v on v.shop_key = $1 and v.variant_id = l.variant_id
    where l.shop_key = $1 and l.cohort_month between $2::date and $3::date
    order by l.order_id, l.line_id`,
);

const copyReturnRows = copy<[shopKey: number, first: string, last: string]>(
  "exported_return",
  `select r.order_id, r.line_id, r.event, r.cohort_month, r.event_date, r.lag_days, ltrim(r.reason, ' ') as reason,
          case when r.reason like ' %' then ltrim(r.reason, ' ') when r.reason is not null then 'stated' end as reason_kind,
          r.returned_units, r.refunded_units, r.restocked_units, r.refund_amount, r.exchanged_units, r.other_units,
          r.kept_amount, r.label_cost
     from (
       select e.order_id, e.line_id, 'return' as event, e.event_number::text collate "C" as number, e.cohort_month,
              e.occurred_on as event_date, e.lag_days, e.reason, e.returned_units, e.refunded_units, e.restocked_units,
              e.refund_minor as refund_amount, e.exchanged_units, e.other_units, e.kept_minor as kept_amount, 0::bigint as label_cost
         from return_event e
        where e.shop_key = $1 and e.cohort_month between $2::date and $3::date
       union all
       select s.order_id, s.line_id, 'label', concat_ws(' ', s.source, s.label_id) collate "C", s.cohort_month,
              (b.charged_at at time zone 'UTC')::date, s.lag_days, null, 0, 0, 0, 0, 0, 0, 0, s.label_minor
         from label_share s
         join return_label b on b.shop_key = $1 and b.source = s.source and b.label_id = s.label_id
        where s.shop_key = $1 and s.cohort_month between $2::date and $3::date
     ) r
    order by r.order_id, r.line_id, r.event desc, r.number`,
);

const copyCatalogueRows = copy<[shopKey: number]>(
  "exported_catalogue",
  `select p.product_gid, p.title as product_title, p.handle, p.vendor, p.family, p.analytics_category, v.variant_id,
          v.sku, v.title as variant_title, v.used as is_used, v.counterpart_sku, v.unit_cost_minor as unit_cost,
          v.options::text as options
     from product p
     left join variant v on v.shop_key = $1 and v.product_gid = p.product_gid
    where p.shop_key = $1
    order by p.product_gid, v.variant_id`,
);

const copyAlertRows = copy<[shopKey: number, first: string, last: string]>(
  "exported_alert_row",
  `select a.alert_id, a.created_at, a.category, a.severity, a.title, a.body, a.metadata::text as metadata
     from alert a
    where a.shop_key = $1 and a.recipient is null and a.created_at >= $2::date and a.created_at < $3::date + interval '1 month'
    order by a.created_at, a.alert_id`,
);

/**
 * COPY of a table with the columns of src/contract/tables.ts in their order, money in minor units. In the order of the primary keys
 * of cohort, order_line, return_event with label_share, product and alert_feed; for a few months by the indexes of months.
 */
export const COPY_TABLES = {
  cohorts: (connection, form, { shopKey, primaryWindowDays, asOfDay }, first, last) => {
    const asOf = asOfDay === null ? null : dayToText(asOfDay);
    return copyCohortRows(connection, form, shopKey, first, last, primaryWindowDays, asOf, daysOrAll(null));
  },
  order_lines: (connection, form, { shopKey }, first, last) =>
    copyOrderLineRows(connection, form, shopKey, first, last),
  returns: (connection, form, { shopKey }, first, last) =>
    copyReturnRows(connection, form, shopKey, first, last),
  catalogue: (connection, form, { shopKey }) => copyCatalogueRows(connection, form, shopKey),
  alerts: (connection, form, { shopKey }, first, last) =>
    copyAlertRows(connection, form, shopKey, first, last),
} as const satisfies Record<string, CopyTable>;

type ValueForm = (column: string, exponent: number) => string;
const asItIs: ValueForm = (column) => column;
const asLong: ValueForm = (column) => `${column}::bigint`;

/** COPY's options for a format, and how it takes a value of each type. */
const COPY_FORMATS = {
  csv: {
    options: "format csv, header",
    values: {
      // A spreadsheet runs text that begins with = + - @, a tab or a carriage return; an apostrophe before it prevents that.
      text: (column) =>
        `case when ascii(${column}) in (61, 43, 45, 64, 9, 13) then '''' || ${column} else ${column} end`,
      integer: asItIs,
      boolean: (column) => `${column}::text`,
      date: asItIs,
      timestamp: (column) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
      money: (column, exponent) => `${column} * ${(10 ** -exponent).toFixed(exponent)}`,
    },
  },
  // Numbers as Parquet stores them: days and milliseconds since 1970, minor units.
  parquet: {
    options: "format binary",
    values: {
      text: (column) => `${column}::text`,
      integer: asLong,
      boolean: asItIs,
      date: (column) => `${column} - date '1970-01-01'`,
      timestamp: (column) => `floor(extract(epoch from ${column}) * 1000)::bigint`,
      money: asLong,
    },
  },
} as const satisfies Record<string, { options: string; values: Record<string, ValueForm> }>;

/** How COPY writes rows with these columns in a format. `exponent`: decimals of the currency. */
export function copyForm(
  format: keyof typeof COPY_FORMATS,
  columns: readonly { name: string; type: keyof (typeof COPY_FORMATS)["csv"]["values"] }[],
  exponent: number,
): CopyForm {
  const { options, values } = COPY_FORMATS[format];
  const list = columns.map(({ name, type }) => `${values[type](`"${name}"`, exponent)} as "${name}"`);
  return { list: list.join(", "), options };
}

type TableSizeRow = { name: string; rows: number; first_month: string | null; last_month: string | null };

/** One row for each table: its rows and its first and last month. Scans of the indexes by month and of cohort's primary key. */
export const listTableSizes = query<TableSizeRow, [workspace: Workspace]>(
  "list_table_sizes",
  `select 'cohorts' as name, count(*) * 4 as rows, min(c.cohort_month) as first_month, max(c.cohort_month) as last_month
     from (select distinct c.entity_kind, c.cohort_month, c.entity_key from cohort c
            where c.shop_key = $1 and c.entity_kind in
              ('sku', 'product', 'product_used', 'family', 'analytics_category', 'vendor', 'workspace')) c
   union all
   select 'order_lines', count(*), min(l.cohort_month), max(l.cohort_month) from order_line l where l.shop_key = $1
   union all
   select 'returns', coalesce(sum(r.rows), 0), min(r.first_month), max(r.last_month)
     from (select count(*) as rows, min(e.cohort_month) as first_month, max(e.cohort_month) as last_month
             from return_event e where e.shop_key = $1
           union all
           select count(*), min(s.cohort_month), max(s.cohort_month) from label_share s where s.shop_key = $1) r
   union all
   select 'catalogue', count(*), null, null
     from product p left join variant v on v.shop_key = $1 and v.product_gid = p.product_gid where p.shop_key = $1
   union all
   select 'alerts', count(*), date_trunc('month', min(a.created_at))::date, date_trunc('month', max(a.created_at))::date
     from alert a where a.shop_key = $1 and a.recipient is null`,
  ({ shopKey }) => [shopKey],
);
