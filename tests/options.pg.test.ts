import assert from "node:assert/strict";
import { test } from "node:test";
import type { OrderLineRow, StoreFiles, OracleVariant } from "./oracle/store.ts";
import { createStore } from "./support/import-store.ts";
import { post, toolCall, toolError, toolText } from "./support/mcp.ts";
import { service } from "./support/shared-service.ts";
import type { ReportBreakdown } from "../src/contract/report.ts";
import type { ReportFit } from "../src/contract/report-sections.ts";

const RANGE = { start_month: "2026-01", end_month: "2026-01" };

/** A product that sold one unit of each variant; `options` are their names and values, in order. */
async function storeOf(options: readonly (readonly [name: string, value: string])[]) {
  const variants: OracleVariant[] = options.map(([option1_name, option1_value], index) => ({
    variant_id: `v${String(index).padStart(5, "0")}`,
    product_id: "p1",
    option1_name,
    option1_value,
  }));
  const order_lines: OrderLineRow[] = variants.map(({ variant_id }, index) => ({
    order_id: `o${index}`,
    line_id: "1",
    ordered_at: "2026-01-05T12:00:00Z",
    variant_id,
    units: 1,
  }));
  const products = [{ product_id: "p1", title: "Shirt", vendor: "Acme" }];
  const files: StoreFiles = { products, variants, order_lines };
  const tenant = await createStore(service, { asOf: "2026-06-01T00:00:00Z", files });
  const ask = async (breakdownBy: string, order: Record<string, string> = {}) => {
    const params = { ...RANGE, reportSection: "breakdown", breakdownBy, ...order };
    const answer = await tenant.ask("/api/v1/report", params);
    assert.equal(answer.status, 200, breakdownBy);
    const { data, meta } = answer.json();
    return { ...(data["breakdown"] as ReportBreakdown), normalized: meta["normalized"] };
  };
  const askTool = (breakdownBy: string) =>
    post(service.address, toolCall("get_report", { ...RANGE, reportSection: "breakdown", breakdownBy }), {
      token: tenant.token,
    });
  return { ask, askTool };
}

test("M22: an option divides a selection by its values, ignoring case, sizes in ascending order and no value last", async () => {
  const { ask } = await storeOf([
    ["Größe", "XL"],
    ["größe", "M"],
    ["Größe", "m"],
    ["Größe", "EU 38.5"],
    ["Größe", "Einheitsgröße"],
    ["Farbe", "Rot"],
  ]);
  const { breakdown_by: by, rows, normalized } = await ask("option:GRöße");
  assert.equal(by, "option:Größe");
  assert.equal(normalized, undefined);
  assert.deepEqual(
    rows.map(({ key, label, sold_units: sold }) => [key, label, sold]),
    [
      ["m", "M", 2],
      ["xl", "XL", 1],
      ["eu 38.5", "EU 38.5", 1],
      ["einheitsgröße", "Einheitsgröße", 1],
      ["", "No value", 1],
      ["other", "Everything else", 0],
    ],
  );
  const ordered = await ask("option:größe", { breakdownOrder: "returned_units" });
  assert.deepEqual(
    ordered.rows.map(({ key }) => key),
    ["einheitsgröße", "eu 38.5", "m", "xl", "", "other"],
    "nothing came back: by key",
  );
});

test("M22: an unknown option falls back in REST; a tool refuses it and names the nearest", async () => {
  const { ask, askTool } = await storeOf([
    ["Size", "M"],
    ["Colour", "Red"],
  ]);
  for (const name of ["sise", "", "   ", "%", "S_ze", "x".repeat(500)]) {
    const unknown = `option:${name}`;
    const { breakdown_by: by, normalized } = await ask(unknown);
    assert.deepEqual([by, normalized], ["product", ["breakdownBy"]], unknown);
    const { message } = toolError(await askTool(unknown));
    assert.match(message, /^breakdownBy must be one of vendor, product, /u, unknown);
  }
  assert.match(
    toolError(await askTool("option:sise")).message,
    /, option:Colour, option:Size; did you mean option:Size\?$/u,
  );
  assert.match(toolText(await askTool("option: size ")).text, /"breakdown_by":"option:Size"/u);
});

test("M22: with any names of options, rows sum up and names are found as written", async () => {
  const long = "ß".repeat(512);
  const signs = ["%", "_ize", "\u202eeziS", "a'b\"c\\", "<b>x</b>", "مقاس"];
  const names = [...signs, "option:size", long, "__proto__", "constructor"];
  const { ask, askTool } = await storeOf(names.map((name) => [name, "' or 1=1 --"]));
  for (const name of names) {
    const { breakdown_by: by, rows } = await ask(`option:${name}`);
    // A parameter is at most 512 characters.
    const isTooLong = name === long;
    assert.equal(by, isTooLong ? "product" : `option:${name}`);
    const units = rows.slice(0, 2).map((row) => row.sold_units);
    if (!isTooLong) assert.deepEqual(units, [1, names.length - 1], name);
  }
  assert.match(
    toolError(await askTool("option:constructo")).message,
    /, option:constructor, option:مقاس; did you mean option:constructor\?$/u,
  );
});

test("M22: the 20 values with the most units have a row, also where every unit has a value", async () => {
  const values = Array.from({ length: 21 }, (_, size): [string, string] => ["Size", String(size + 30)]);
  for (const [options, last] of [
    [values, ["49"]],
    [
      [...values, ["Colour", "Red"]],
      ["49", ""],
    ],
  ] as const) {
    const { ask } = await storeOf(options);
    for (const order of [{}, { breakdownOrder: "sold_units" }]) {
      const { rows } = await ask("option:size", order);
      const keys = rows.map(({ key }) => key);
      assert.deepEqual([keys.length, ...keys.slice(19)], [20 + last.length, ...last, "other"]);
      assert.equal(rows.at(-1)?.sold_units, 1);
    }
  }
});

test("M22: of five thousand values the 20 with the most units are listed, and the rest adds up", async () => {
  const values = Array.from({ length: 5000 }, (_, index): [string, string] => ["Size", `value ${index}`]);
  const { ask } = await storeOf([...values, ["Colour", "Red"]]);
  // Without analyze, as in a database of small stores, where plans are made for few rows.
  for (const selection of [{}, { vendor: "Acme" }]) {
    const { rows } = await ask("option:size", selection);
    assert.deepEqual([rows.length, rows.at(-2)?.label, rows.at(-1)?.sold_units], [22, "No value", 4980]);
    for (const by of ["sku", "product"]) await ask(by, selection);
    await ask("product", { ...selection, reportSection: "bridge" });
  }
});

test("M22: a size beyond the 60 that are listed is a sibling of these", async () => {
  const sizes = Array.from({ length: 61 }, (_, place) => String(place + 10));
  const rare = "70";
  const orderOf = (size: string) => ({ order_id: `o${size}`, line_id: "1" });
  const files: StoreFiles = {
    products: [{ product_id: "p1", title: "Jeans" }],
    variants: sizes.map((size) => ({
      variant_id: `v${size}`,
      product_id: "p1",
      option1_name: "Size",
      option1_value: size,
    })),
    order_lines: sizes.map((size) => ({
      ...orderOf(size),
      ordered_at: "2026-01-05T12:00:00Z",
      variant_id: `v${size}`,
      units: size === rare ? 1 : 2,
    })),
    returns: [
      {
        ...orderOf(rare),
        return_id: "r1",
        status: "CLOSED",
        units: 1,
        closed_at: "2026-01-15T12:00:00Z",
        reason: "too_small",
      },
    ],
  };
  const tenant = await createStore(service, { asOf: "2026-06-01T00:00:00Z", files });
  const params = { ...RANGE, reportSection: "fit", product_gid: "gid://import/Product/p1" };
  const { fit } = (await tenant.ask("/api/v1/report", params)).json().data as unknown as { fit: ReportFit };
  assert.deepEqual([fit.sizes.length, fit.sizes.some(({ size }) => size === rare)], [60, false]);
  // Without other products u = 0.25, so m = (1 + 5) ÷ (1 + 20).
  for (const { too_small: tooSmall } of fit.sizes) assert.equal(tooSmall?.share, 0.285714);
});
