import {
  STORE_MONTHS,
  jacket,
  shirt,
  hat,
  SKUS,
  soldUnits,
  returnedUnits,
  REFUND_MINOR,
  LABEL_MINOR,
  LAG_DAYS,
} from "./small-store-plan.ts";
import type { Sku } from "./small-store-plan.ts";

/** The rows that a rebuild makes of the small store's facts, by table. */
export function preparedRows() {
  return {
    cohort: cohortRows(),
    sku_quarter: quarterRows(),
    unmatched_label: [
      { source: "labels", label_id: "unmatched", charged_on: "2025-06-17", amount_minor: LABEL_MINOR },
    ],
  };
}

function cohortRows() {
  return STORE_MONTHS.flatMap((month, monthIndex) =>
    cohortEntities().flatMap(({ kind, key, skus }) =>
      ["primary", "30d", "90d", "lifetime"].map((window) => ({
        entity_kind: kind,
        entity_key: key,
        observation_window: window,
        cohort_month: `${month}-01`,
        ...cohortFigures(skus, monthIndex),
        ...cohortArrays({ kind, skus, monthIndex, isLifetime: window === "lifetime" }),
      })),
    ),
  );
}

/** The sum of a month's figures over SKUs, given by their place in the list. */
function cohortFigures(skus: readonly number[], monthIndex: number) {
  const sold = skus.reduce((sum, skuIndex) => sum + soldUnits(skuIndex, monthIndex), 0);
  const returned = skus.reduce((sum, skuIndex) => sum + returnedUnits(skuIndex, monthIndex), 0);
  return {
    sold_units: sold,
    returned_units: returned,
    refunded_units: returned,
    restocked_units: returned,
    restocked_cost_minor: returned * 700,
    costed_sold_units: sold,
    costed_returned_units: returned,
    refund_minor: returned * REFUND_MINOR,
    label_minor: skus.length * LABEL_MINOR,
    returned_not_refunded_units: 0,
    labeled_returned_units: returned,
  };
}

type ArraysOf = { kind: string; skus: readonly number[]; monthIndex: number; isLifetime: boolean };

function cohortArrays({ kind, skus, monthIndex, isLifetime }: ArraysOf) {
  const { sold_units: sold, returned_units: returned } = cohortFigures(skus, monthIndex);
  const hasDays = ["family", "analytics_category", "workspace"].includes(kind);
  return {
    return_reasons: isLifetime ? ["SIZE_TOO_SMALL"] : null,
    return_lag_days: isLifetime ? [LAG_DAYS] : null,
    return_units: isLifetime ? [returned] : null,
    request_states: isLifetime ? ["CLOSED"] : null,
    request_units: isLifetime ? [returned] : null,
    sold_days: hasDays ? [`${STORE_MONTHS[monthIndex]}-05`] : null,
    day_sold_units: hasDays ? [sold] : null,
    day_returned_units: hasDays ? [returned] : null,
  };
}

/** Every quarter of every SKU, in every window: the sum of three months. */
function quarterRows() {
  return SKUS.flatMap(({ sku }, skuIndex) =>
    STORE_MONTHS.flatMap((month, monthIndex) => {
      if (monthIndex % 3 !== 0) return [];
      const figures = [0, 1, 2].map((offset) => cohortFigures([skuIndex], monthIndex + offset));
      const sum = (column: keyof ReturnType<typeof cohortFigures>) =>
        figures.reduce((total, row) => total + row[column], 0);
      return ["primary", "30d", "90d", "lifetime"].map((window) => ({
        observation_window: window,
        quarter: `${month}-01`,
        sku,
        sold_units: sum("sold_units"),
        returned_units: sum("returned_units"),
        refund_minor: sum("refund_minor"),
        label_minor: sum("label_minor"),
      }));
    }),
  );
}

/** Every entity that has cohort rows, with the places of its SKUs in the list. */
function cohortEntities() {
  const places = (matches: (sku: Sku) => boolean): number[] =>
    SKUS.flatMap((sku, index) => (matches(sku) ? [index] : []));
  return [
    { kind: "workspace", key: "", skus: places(() => true) },
    ...SKUS.map(({ sku }, index) => ({ kind: "sku", key: sku, skus: [index] })),
    ...[jacket, shirt, hat].map(({ gid }) => ({
      kind: "product",
      key: gid,
      skus: places((sku) => sku.product.gid === gid && !sku.isUsed),
    })),
    { kind: "product_used", key: jacket.gid, skus: places((sku) => sku.isUsed) },
    ...["Outerwear", "Tops"].map((key) => ({
      kind: "family",
      key,
      skus: places((sku) => sku.product.family === key),
    })),
    ...["Hats", "Jackets", "Shirts"].map((key) => ({
      kind: "analytics_category",
      key,
      skus: places((sku) => sku.product.category === key),
    })),
  ];
}
