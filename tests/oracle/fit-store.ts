import { mulberry32 } from "../../src/demo/random.ts";
import { dayOf, noonOf } from "./calendar.ts";
import { USUAL_SETTINGS } from "./store.ts";
import type { OrderLineRow, OracleParameters, ReturnRow, OracleStore, OracleVariant } from "./store.ts";

const ORDERS = 1200;
const DAYS = 240;
const FIRST_DAY = dayOf("2025-01-01");

/** Product, variant, size option and its value; `u` means used. */
const VARIANTS = [
  ["t1", "t1s", "Size", "S"],
  ["t1", "t1m", "Size", "M"],
  ["t1", "t1l", "Size", "L"],
  ["t1", "t1u", "SIZE", "m"],
  ["t1", "t1-", "Colour", "Red"],
  ["t2", "t2s", "Größe", "S"],
  ["t2", "t2m", "Größe", "M"],
  ["t2", "t2l", "Größe", "L"],
  ["s1", "s1s", "Width", "9.5"],
  ["s1", "s1m", "Width", "10"],
  ["n1", "n1s", "Taille", "S"],
  ["n1", "n1m", "Taille", "M"],
  ["n1", "n1l", "Taille", "L"],
  ["n1", "n1x", "Taille", "XL"],
  ["c1", "c1r", "Colour", "Red"],
] as const;

/** By product, how many of 20 returns are too small and too large: mostly unlike the usual share. */
const MISFITS: Record<string, readonly [tooSmall: number, tooLarge: number]> = {
  t1s: [2, 2],
  t1m: [16, 1],
  t1l: [2, 14],
  t1u: [10, 10],
  t2s: [2, 3],
  t2m: [2, 4],
  t2l: [3, 2],
  s1s: [1, 13],
  s1m: [1, 14],
  n1s: [10, 2],
  n1m: [10, 2],
  n1l: [10, 2],
  n1x: [10, 2],
};
const STATED = ["defect", "Defect", "odd", "Odd", "color", "not_as_described", "wrong item", "late", "other"];
const REASONS = [...STATED, "", ""];

/** Products that run small or large in some sizes, in all or in none; orders of several sizes, and exchanges. */
export function fitStore(seed: number): OracleStore {
  const random = mulberry32(seed);
  const upTo = (most: number): number => 1 + Math.floor(random() * most);
  const pick = <Value>(values: readonly Value[]): Value => values[upTo(values.length) - 1] as Value;
  const order_lines: OrderLineRow[] = [];
  const returns: ReturnRow[] = [];
  const reasonOf = (variant: string): string => {
    const [small, large] = MISFITS[variant] ?? [4, 4];
    const turn = upTo(20);
    if (turn <= small) return pick(["too_small", "Too Small", "size-too-small", "Pinches"]);
    return turn <= small + large ? pick(["too_large", "too-large"]) : pick(REASONS);
  };
  for (let place = 0; place < ORDERS; place += 1) {
    const order_id = `o${place}`;
    const day = FIRST_DAY + Math.floor(random() * DAYS);
    const product = pick(["t1", "t1", "t2", "t2", "s1", "n1", "c1"]);
    const add = (at: number): OrderLineRow => {
      const variant = pick(VARIANTS.filter(([of]) => of === product || random() < 0.02));
      const row = {
        order_id,
        line_id: `${order_id}-${order_lines.length}`,
        ordered_at: noonOf(at),
        product_id: variant[0],
        variant_id: variant[1],
        units: upTo(2),
      };
      order_lines.push(row);
      return row;
    };
    for (let line = upTo(3); line > 1; line -= 1) add(day);
    const { line_id, variant_id, units } = add(day);
    if (random() < 0.4) continue;
    const back = day + upTo(100);
    const isExchange = random() < 0.3;
    for (let sent = isExchange ? upTo(3) - 1 : 0; sent > 0; sent -= 1) add(back);
    const reason = reasonOf(String(variant_id));
    returns.push({
      return_id: `r${place}`,
      order_id,
      line_id,
      status: "CLOSED",
      units,
      closed_at: noonOf(back),
      ...(reason === "" ? {} : { reason }),
      ...(isExchange ? { exchanged_units: 1 } : {}),
    });
    // Another return of the order's other line, in the same size or not.
    const other = order_lines.find((row) => row.order_id === order_id && row.line_id !== line_id);
    if (other === undefined || random() < 0.7) continue;
    const own = reasonOf(String(other.variant_id));
    returns.push({
      return_id: `s${place}`,
      order_id,
      line_id: other.line_id,
      status: "CLOSED",
      units: 1,
      closed_at: noonOf(Math.max(back, dayOf(other.ordered_at))),
      ...(own === "" ? {} : { reason: own }),
    });
  }
  return {
    settings: {
      ...USUAL_SETTINGS,
      reason_groups: { defect: "damaged", "wrong item": "other", pinches: "too_small" },
    },
    as_of: noonOf(FIRST_DAY + DAYS + 20),
    files: {
      products: [
        { product_id: "t1", title: "T1", vendor: "Acme", analytics_category: "Tops" },
        { product_id: "t2", title: "T2", vendor: "Acme", analytics_category: "Tops" },
        { product_id: "s1", title: "S1", vendor: "Best", analytics_category: "Shoes" },
        { product_id: "n1", title: "N1", vendor: "Best" },
        { product_id: "c1", title: "C1", vendor: "Best" },
      ],
      variants: VARIANTS.map(([product_id, variant_id, option1_name, option1_value]): OracleVariant => ({
        product_id,
        variant_id,
        condition: variant_id.endsWith("u") ? "used" : "new",
        option1_name,
        option1_value,
      })),
      order_lines,
      returns,
    },
  };
}

const EVERYTHING = { start_month: "2025-01", end_month: "2025-12", reportSection: "fit" };

export const requestsOfFit: OracleParameters[] = ["t1", "t2", "s1", "n1", "c1"].flatMap((id) =>
  [
    { window: "lifetime" },
    { window: "30d", include_incomplete: true },
    { window: "90d", include_used_variants: true },
    { window: "primary", end_month: "2025-03", vendor: id === "t2" ? "Best" : "Acme" },
  ].map((asked): OracleParameters => ({
    product_gid: `gid://import/Product/${id}`,
    ...EVERYTHING,
    ...asked,
  })),
);
