import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { openBudget } from "./api/client.ts";
import { splitMinor } from "../shared/money.ts";
import { DownloadBroken, largestFileBytes, readLines } from "./api/documents.ts";
import * as downloads from "./fetch/backfill.ts";
import { toLine, toReturnLine, toSale } from "./map/records.ts";
import { cleanKey, cleanLabel, compareGids } from "../shared/text.ts";

const CHILD = { __parentId: "p" };
const readLine = (node: object) => toLine(downloads.readLine({ ...CHILD, ...node }));
const readReturnLine = (node: object, returnId: string) =>
  toReturnLine(downloads.readReturnLine({ ...CHILD, ...node }), returnId);
const readSale = (node: object, agreementId: string) =>
  toSale(downloads.readSale({ ...CHILD, ...node }), agreementId);

const LINE = {
  id: "gid://shopify/LineItem/1",
  sku: null,
  title: "Dress",
  vendor: null,
  quantity: 1,
  currentQuantity: 1,
  requiresShipping: true,
  isGiftCard: false,
  product: null,
  variant: null,
  originalUnitPriceSet: { shopMoney: { amount: "10.0" } },
};

test("a value of another type than the schema's is one clear sentence", () => {
  const refused = (values: object, message: string) =>
    assert.throws(() => readLine({ ...LINE, ...values }), { name: "SourceFailed", message });
  const cannot = "Shopify's answer about gid://shopify/LineItem/1 of p cannot be read:";
  refused({ quantity: "two" }, `${cannot} LineItem.quantity should be a whole number, and is text.`);
  refused({ quantity: 1.5 }, `${cannot} LineItem.quantity should be a whole number, and is 1.5.`);
  refused({ quantity: 1e300 }, `${cannot} LineItem.quantity should be a whole number, and is 1e+300.`);
  refused({ quantity: undefined }, `${cannot} LineItem.quantity should be a whole number, and is missing.`);
  refused({ title: null }, `${cannot} LineItem.title should be text, and is null.`);
  refused({ isGiftCard: "no" }, `${cannot} LineItem.isGiftCard should be true or false, and is text.`);
  refused({ product: "p1" }, `${cannot} LineItem.product should be an object or null, and is text.`);
  refused({ originalUnitPriceSet: {} }, `${cannot} MoneyBag.shopMoney should be an object, and is missing.`);
  assert.equal(readLine({ ...LINE, quantity: "3", unknown: true }).quantity, 3);
  assert.equal(readLine(LINE).unitPrice, "10.0");
});

test("M8: a return from before there were definitions has the handle of its reason", () => {
  const lineItem = { id: "l" };
  const reason = (values: object) =>
    readReturnLine(
      { __typename: "ReturnLineItem", id: "i", quantity: 1, fulfillmentLineItem: { lineItem }, ...values },
      "r",
    ).reason;
  assert.equal(reason({ returnReason: "SIZE_TOO_SMALL", returnReasonDefinition: null }), "size-too-small");
  assert.equal(
    reason({ returnReason: "OTHER", returnReasonDefinition: { handle: "too-tight" } }),
    "too-tight",
  );
  assert.equal(reason({ returnReason: "UNKNOWN", returnReasonDefinition: null }), null);
});

test("a return item that the platform could not verify has no line", () => {
  const node = { __typename: "UnverifiedReturnLineItem", id: "u", quantity: 1, processedQuantity: 0 };
  assert.equal(readReturnLine(node, "r").lineId, null);
});

test("of the ledger sales of products, adjustments and tips are kept", () => {
  const amounts = {
    totalAmount: { shopMoney: { amount: "-1.0" } },
    totalTaxAmount: { shopMoney: { amount: "0.0" } },
  };
  const read = (values: object) =>
    readSale(
      {
        __typename: "ProductSale",
        id: "s",
        lineType: "PRODUCT",
        lineItem: { id: "l" },
        ...amounts,
        ...values,
      },
      "a",
    );
  assert.ok(read({ actionType: "ORDER", quantity: 2 }) !== null);
  assert.ok(read({ actionType: "ORDER", quantity: null }) !== null);
  assert.ok(
    read({ actionType: "RETURN", quantity: null, lineType: "ADJUSTMENT", __typename: "AdjustmentSale" }),
  );
  assert.equal(
    read({ actionType: "RETURN", quantity: -1, lineType: "SHIPPING", __typename: "ShippingLineSale" }),
    null,
  );
  assert.ok(read({ actionType: "UPDATE", quantity: -1 }) !== null);
  assert.ok(read({ actionType: "RETURN", quantity: 0 }) !== null);
  const tip = read({ actionType: "ORDER", quantity: 1, lineType: "TIP", __typename: "TipSale" });
  assert.deepEqual(tip, { tip: { id: "s", lineId: "l" } });
});

test("the parts of a split amount add up to it, and a negative one is split like its absolute value", () => {
  const weights = fc.array(fc.nat(1000), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(fc.integer({ min: -100_000, max: 100_000 }), weights, (wholeMinor, parts) => {
      const split = splitMinor(wholeMinor, parts);
      assert.equal(split.length, parts.length);
      assert.equal(
        split.reduce((sum, part) => sum + part, 0),
        wholeMinor,
      );
      assert.deepEqual(
        splitMinor(0 - wholeMinor, parts),
        split.map((part) => 0 - part),
      );
    }),
  );
});

test("texts lose control characters, and are cut at a whole character", () => {
  assert.equal(cleanKey(" A\u0000B "), " AB ");
  assert.equal(cleanKey(" \n"), null);
  assert.equal(cleanLabel(" Étude\t "), "Étude");
  assert.equal(cleanKey("€".repeat(300)), "€".repeat(170));
});

test("ids are compared by their number", () =>
  assert.deepEqual(["gid/10", "gid/9", "gid/11"].toSorted(compareGids), ["gid/9", "gid/10", "gid/11"]));

function bodyOf(text: string, chunkBytes: number): ReadableStream<Uint8Array> {
  const bytes = Buffer.from(text);
  let from = 0;
  return new ReadableStream({
    pull: (controller) => {
      if (from >= bytes.length) return controller.close();
      controller.enqueue(Uint8Array.from(bytes.subarray(from, (from += chunkBytes))));
    },
  });
}

test("JSON lines are read whatever way they are cut into chunks", async () => {
  const text = '{"id":"é1"}\n{"id":"2"}\n{"id":"3"}\n';
  for (const chunkBytes of [1, 2, 3, 7, 100]) {
    const ids: unknown[] = [];
    const lines = await readLines(
      bodyOf(text, chunkBytes),
      (node) => ids.push(node["id"]),
      async () => {},
      text.length * 2,
    );
    assert.deepEqual([lines, ids], [3, ["é1", "2", "3"]]);
  }
});

test("a file that ends within a line is a broken one", async () => {
  const read = readLines(
    bodyOf('{"id":"1"}\n{"id":', 5),
    () => {},
    async () => {},
    100,
  );
  await assert.rejects(read, DownloadBroken);
});

test("a file that is larger than its records can be is not read to its end", async () => {
  const read = (text: string, maxBytes: number) =>
    readLines(
      bodyOf(text, 65_536),
      () => {},
      async () => {},
      maxBytes,
    );
  const larger = { name: "SourceFailed", message: /is larger than expected for its records/u };
  await assert.rejects(read('{"id":"1"}\n'.repeat(100), 999), larger);
  await assert.rejects(read("x".repeat(5 * 1_048_576), largestFileBytes(1000)), larger);
});

function cost(requested: number, available: number): object {
  const throttleStatus = { maximumAvailable: 1000, currentlyAvailable: available, restoreRate: 50 };
  return { cost: { requestedQueryCost: requested, throttleStatus } };
}

test("a request waits until the points it needs have come back", async () => {
  let nowMs = 0;
  const budget = openBudget(() => nowMs);
  const { signal } = new AbortController();
  assert.equal(budget.waitMs("orders"), 0);
  budget.learn("orders", cost(300, 400));
  assert.equal(budget.waitMs("orders"), 0);
  await budget.spend("orders", signal);
  for (const [atMs, waitMs] of [
    [0, 4000],
    [3000, 1000],
    [9000, 0],
  ] as const) {
    nowMs = atMs;
    assert.equal(budget.waitMs("orders"), waitMs);
  }
  nowMs = 0;
  assert.equal(budget.waitMs("shop"), 0);
});

test("after a refusal the wait is the missing points divided by their restore rate", () => {
  const budget = openBudget();
  assert.equal(budget.throttledMs(cost(300, 100)), 4000);
  assert.equal(budget.throttledMs({}), 1000);
});
