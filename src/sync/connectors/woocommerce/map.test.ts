import assert from "node:assert/strict";
import { test } from "node:test";
import { projectOrder } from "../../../metrics/classify.ts";
import type { WooOrder, WooRefund } from "./client.ts";
import { mapOrder, mapWooProduct } from "./map.ts";

const line = (
  id: number,
  quantity: number,
  total: string,
  values: Partial<WooOrder["line_items"][number]> = {},
) => ({
  id,
  name: `Line ${id}`,
  product_id: 5,
  variation_id: id,
  quantity,
  subtotal: total,
  total,
  sku: `S${id}`,
  ...values,
});

const ORDER: WooOrder = {
  id: 7,
  number: "1007",
  status: "completed",
  currency: "EUR",
  created_via: "checkout",
  total: "125.000000",
  date_created_gmt: "2026-01-31T23:30:00",
  date_modified_gmt: "2026-02-10T08:00:00",
  date_completed_gmt: "2026-02-02T08:00:00",
  line_items: [line(1, 3, "30.000000", { subtotal: "36.000000" }), line(2, 1, "70.000000")],
  refunds: [],
};

const refund = (
  id: number,
  at: string,
  amount: string,
  lines: [item: number, quantity: number, total: string][] = [],
): WooRefund => ({
  id,
  date_created_gmt: at,
  amount,
  line_items: lines.map(([item, quantity, total]) => ({
    quantity,
    total,
    meta_data: [{ key: "_refunded_item_id", value: String(item) }],
  })),
});

const map = (
  order: Partial<WooOrder>,
  refunds: WooRefund[] = [],
  refundsBeforeCompletion: "canceled" | "returned" = "canceled",
) => mapOrder({ ...ORDER, ...order }, refunds, { refundsBeforeCompletion }, "EUR");

/** Sold and returned units, refunded minor units and amounts without a line, counted by the rules. */
function counted(mapped: ReturnType<typeof map>) {
  const facts = projectOrder({ orderId: "o", ...mapped.part });
  const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);
  return [
    sum(facts.lines.map(({ soldUnits }) => soldUnits)),
    sum(facts.lines.map(({ soldMinor }) => soldMinor ?? 0)),
    sum(facts.events.map(({ returnedUnits }) => returnedUnits)),
    sum(facts.events.map(({ refundMinor }) => refundMinor)),
    sum(facts.amountRefunds.map(({ amountMinor }) => amountMinor)),
  ];
}

test("M1, M20: a sale of the UTC day of the order, at its value after coupons", () => {
  const { part } = map({});
  const [first] = part.lines;
  assert.deepEqual(
    [
      first?.orderedAt,
      first?.units,
      first?.unitPriceMinor,
      first?.soldMinor,
      first?.productId,
      first?.variantId,
      first?.sku,
    ],
    [
      "2026-01-31T23:30:00.000Z",
      3,
      1200,
      3000,
      "gid://woocommerce/Product/5",
      "gid://woocommerce/ProductVariant/1",
      null,
    ],
  );
  assert.deepEqual(counted(map({})), [4, 10_000, 0, 0, 0]);
  const deleted = map({ line_items: [line(1, 1, "5.00", { product_id: 0, variation_id: 0 })] }).part.lines[0];
  assert.deepEqual([deleted?.productId, deleted?.variantId, deleted?.sku], [null, null, "S1"]);
});

test("statuses that sell nothing, and those that do", () => {
  for (const status of ["pending", "failed", "checkout-draft", "trash"])
    assert.deepEqual(map({ status }).part.lines, []);
  assert.deepEqual(counted(map({ status: "cancelled" })), [0, 0, 0, 0, 0]);
  assert.equal(map({ status: "cancelled" }).part.lines[0]?.canceledAt, "2026-02-10T08:00:00.000Z");
  for (const status of ["processing", "on-hold", "shipped", "wc-completed"])
    assert.equal(counted(map({ status }))[0], 4);
  assert.equal(map({ status: "on-hold" }).part.unpaidStatus, "ON-HOLD");
});

test("M2, M9: units of refund lines come back, money alone does not, and shipping is not merchandise", () => {
  const back = refund(20, "2026-02-10T08:00:00", "24.00", [[1, -2, "-20.00"]]);
  assert.deepEqual(counted(map({}, [back])), [4, 10_000, 2, 2000, 0]);
  assert.deepEqual(
    counted(map({}, [refund(20, "2026-02-10T08:00:00", "6.00", [[1, 0, "-5.00"]])])),
    [4, 10_000, 0, 500, 0],
  );
  const shipping = [{ total: "-4.00", total_tax: "-1.00" }];
  assert.deepEqual(
    counted(map({}, [{ ...refund(20, "2026-02-10T08:00:00", "15.00"), shipping_lines: shipping }])),
    [4, 10_000, 0, 0, 1000],
  );
  assert.deepEqual(
    counted(map({}, [{ ...refund(20, "2026-02-10T08:00:00", "5.00"), shipping_lines: shipping }])),
    [4, 10_000, 0, 0, 0],
  );
});

test("M13: refunded units are restocked if their line says so; its number may be that of some refunds only", () => {
  const refunds = [
    refund(20, "2026-02-10T08:00:00", "12.00", [[1, -1, "-10.00"]]),
    refund(21, "2026-02-11T08:00:00", "24.00", [[1, -2, "-20.00"]]),
    refund(22, "2026-02-12T08:00:00", "6.00", [[1, 0, "-5.00"]]),
  ];
  const typesOf = (value: unknown) => {
    const item = line(1, 3, "30.00", { meta_data: [{ key: "_restock_refunded_items", value }] });
    return map({ line_items: [item] }, refunds).part.refunds.map(({ restockType }) => restockType);
  };
  const [back, none] = ["RETURN", "NO_RESTOCK"];
  assert.deepEqual(typesOf("3"), [back, back, none]);
  assert.deepEqual(typesOf(2), [none, back, none]);
  assert.deepEqual(typesOf("1"), [back, none, none]);
  for (const value of ["0", "", null, "x", []]) assert.deepEqual(typesOf(value), [none, none, none]);
});

test("M1: units refunded before the order is completed were never sent", () => {
  const early = refund(20, "2026-02-01T08:00:00", "24.00", [[1, -2, "-20.00"]]);
  assert.deepEqual(counted(map({}, [early])), [2, 8000, 0, 0, 0]);
  assert.equal(map({}, [early]).anomalies.refundsBeforeCompletion, 1);
  assert.deepEqual(counted(map({}, [early], "returned")), [4, 10_000, 2, 2000, 0]);
  // Imported orders may lack the time of their completion.
  assert.deepEqual(counted(map({ date_completed_gmt: null }, [early])), [4, 10_000, 2, 2000, 0]);
  assert.deepEqual(
    counted(
      map({ date_completed_gmt: null }, [refund(20, "2026-02-01T08:00:00", "6.00", [[1, 0, "-5.00"]])]),
    ),
    [4, 10_000, 0, 500, 0],
  );
});

test("the status refunded is a refund of everything not refunded yet, at most of what was paid", () => {
  const status = "refunded";
  const whole = refund(20, "2026-02-10T08:00:00", "125.00");
  assert.deepEqual(counted(map({ status }, [whole])), [4, 10_000, 4, 10_000, 0]);
  const first = refund(19, "2026-02-09T08:00:00", "24.00", [[1, -2, "-20.00"]]);
  assert.deepEqual(counted(map({ status }, [whole, first])), [4, 10_000, 4, 10_000, 0]);
  const amount = refund(19, "2026-02-09T08:00:00", "60.00");
  assert.deepEqual(
    counted(map({ status }, [{ ...whole, amount: "65.00" }, amount])),
    [4, 10_000, 4, 6500, 6000],
  );
  const moneyOnly = refund(20, "2026-02-10T08:00:00", "120.00", [
    [1, 0, "-30.00"],
    [2, 0, "-70.00"],
  ]);
  assert.deepEqual(counted(map({ status }, [moneyOnly])), [4, 10_000, 4, 10_000, 0]);
  assert.deepEqual(
    [counted(map({ status })), map({ status }).anomalies.undatedRefunds],
    [[4, 10_000, 0, 0, 0], 1],
  );
});

test("an order in another currency has units without money; a fractional quantity is one unit", () => {
  const foreign = map({ currency: "USD" }, [refund(20, "2026-02-10T08:00:00", "24.00", [[1, -2, "-20.00"]])]);
  assert.deepEqual([counted(foreign), foreign.anomalies.foreignOrders], [[4, 0, 2, 0, 0], 1]);
  const measured = map({ line_items: [line(1, 0.5, "30.00")] }, [
    refund(20, "2026-02-10T08:00:00", "30.00", [[1, -0.5, "-30.00"]]),
  ]);
  assert.deepEqual([counted(measured), measured.anomalies.measuredLines], [[1, 3000, 1, 3000, 0], 1]);
});

test("M22: attributes of variations are options; a simple product is its own variant", () => {
  const product = {
    id: 5,
    name: "Dress",
    slug: "dress",
    type: "variable",
    sku: "",
    categories: [{ name: "Dresses" }],
    tags: [{ name: "family:Wraps" }],
    brands: [{ name: "Quay" }],
    images: [{ src: "https://shop.example/1.png", alt: "" }],
    attributes: [
      { name: "Size", variation: true, options: ["S", "M"] },
      { name: "Material", options: ["Wool"] },
    ],
  };
  const settings = {
    familyMetafield: null,
    familyTagPrefix: "family:",
    conditionOption: "condition",
    usedConditions: new Set(["used"]),
  };
  const variation = (id: number, sku: string, condition: string) => ({
    id,
    sku,
    attributes: [
      { name: "Size", option: "S" },
      { name: "Condition", option: condition },
    ],
    cost_of_goods_sold: { total_value: 4.25 },
  });
  const mapped = mapWooProduct(
    product,
    [variation(8, "D-S", "New"), variation(9, "D-S-U", "Used")],
    settings,
    "EUR",
  );
  const { family, analytics_category: category, vendor, image_url: image } = mapped.product;
  assert.deepEqual(
    [family, category, vendor, image],
    ["Wraps", "Dresses", "Quay", "https://shop.example/1.png"],
  );
  assert.deepEqual(
    mapped.variants.map(({ sku, title, used, counterpart_sku: counterpart, unit_cost_minor: cost }) => [
      sku,
      title,
      used,
      counterpart,
      cost,
    ]),
    [
      ["D-S", "S / New", false, null, 425],
      ["D-S-U", "S / Used", true, "D-S", 425],
    ],
  );
  const [simple] = mapWooProduct({ ...product, type: "simple", sku: "D" }, [], settings, "EUR").variants;
  assert.deepEqual(
    [simple?.variant_id, simple?.sku, simple?.options],
    ["gid://woocommerce/ProductVariant/5", "D", [{ name: "Material", value: "Wool" }]],
  );
});
