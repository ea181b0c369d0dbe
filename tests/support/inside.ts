/** SQL on a row of cohort: the element of a return curve at the window's days, or its last one for lifetime (M4). */
export function inside(column: string, windowDays: number | "lifetime"): string {
  const days = windowDays === "lifetime" ? "2147483647" : String(windowDays);
  return `coalesce(${column}[width_bucket(${days}, lag_days)], 0)`;
}

/** SQL: every cohort row of shop $1 inside a window, named as "kind:key window month". */
export function figuresInside(days: number | "lifetime"): string {
  const window = days === "lifetime" ? days : `${days}d`;
  const curve = (column: string): string => inside(column, days);
  return `select entity_kind || ':' || entity_key || ' ${window} ' || to_char(cohort_month, 'YYYY-MM') as row,
                 array[sold_units, ${["returned_units", "refunded_units", "restocked_units", "restocked_cost_minor"].map(curve).join(", ")},
                       costed_sold_units, ${["costed_returned_units", "refund_minor", "label_minor"].map(curve).join(", ")}] as figures
            from cohort where shop_key = $1`;
}
