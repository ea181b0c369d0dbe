import type { DayCurve } from "../../src/metrics/outlook.ts";
import { query } from "../../src/store/query.ts";

/** One order line that sold something; days are counted from 1970-01-01. */
export type StoreLine = {
  order_id: string;
  sku: string | null;
  product_gid: string | null;
  used: boolean;
  family: string | null;
  analytics_category: string | null;
  ordered_day: number;
  sold_units: number;
  /** Returned units by days after the order, ascending. */
  lag_days: number[];
  returned_units: number[];
  refunds: { lagDays: number; minor: number }[];
};

/** Every line of a shop that sold something, oldest first. */
export const loadStoreLines = query<StoreLine, [shopKey: number]>(
  "backtest_load_store_lines",
  `select l.order_id, l.sku, l.product_gid, l.used, p.family, p.analytics_category,
                l.ordered_on - date '1970-01-01' as ordered_day, l.sold_units,
                coalesce(r.lag_days, '{}') as lag_days, coalesce(r.returned_units, '{}') as returned_units,
                coalesce(r.refunds, '[]') as refunds
           from order_line l
           left join product p on p.shop_key = $1 and p.product_gid = l.product_gid
           left join (
             select e.order_id, e.line_id,
                    array_agg(e.lag_days order by e.lag_days) filter (where e.returned_units > 0) as lag_days,
                    array_agg(e.returned_units order by e.lag_days) filter (where e.returned_units > 0) as returned_units,
                    json_agg(json_build_object('lagDays', e.lag_days, 'minor', e.refund_minor))
                      filter (where e.refund_minor <> 0) as refunds
               from return_event e where e.shop_key = $1
              group by e.order_id, e.line_id) r on r.order_id = l.order_id and r.line_id = l.line_id
          where l.shop_key = $1 and l.sold_units > 0
          order by l.ordered_on`,
);

/** The curves of the lines' days, oldest first. */
export function dayCurves(lines: readonly StoreLine[]): DayCurve[] {
  return [...Map.groupBy(lines, (line) => line.ordered_day)]
    .toSorted(([left], [right]) => left - right)
    .map(([day, ordered]) => {
      const steps = new Map<number, { units: number; lines: number }>();
      for (const { lag_days: lags, returned_units: units } of ordered) {
        for (const [place, lag] of lags.entries()) {
          const step = steps.get(lag) ?? { units: 0, lines: 0 };
          step.units += units[place] as number;
          step.lines += place === 0 ? 1 : 0;
          steps.set(lag, step);
        }
      }
      const lagDays = [...steps.keys()].toSorted((left, right) => left - right);
      let units = 0;
      let returned = 0;
      return {
        day,
        soldUnits: ordered.reduce((sum, line) => sum + line.sold_units, 0),
        soldLines: ordered.length,
        lagDays,
        returnedUnits: lagDays.map((lag) => (units += steps.get(lag)?.units ?? 0)),
        returnedLines: lagDays.map((lag) => (returned += steps.get(lag)?.lines ?? 0)),
      };
    });
}
