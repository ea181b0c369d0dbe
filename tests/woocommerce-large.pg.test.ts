import assert from "node:assert/strict";
import { test } from "node:test";
import { createWooConnector } from "../src/sync/connectors/woocommerce/connector.ts";
import { putConnection } from "../src/store/queries/data-source.ts";
import { sendJson, serveLoopback } from "../tools/simulators/http.ts";
import { startImportWorkspace } from "./support/import-workspace.ts";
import { memoryCredentials } from "./support/secret.ts";
import { use } from "./support/use.ts";

const shop = use(startImportWorkspace);

const AT = "2026-03-01T00:00:00";
const none = { categories: [], tags: [], images: [], attributes: [], description: "x".repeat(2000) };
const PRODUCTS = Array.from({ length: 30 }, (_, index) => ({
  id: 1000 + index,
  name: "A",
  type: "simple",
  ...none,
}));

/** An order of many lines, each with data of plugins, as the list of a shop has it. */
const orderOf = (id: number, lines: number) => ({
  id,
  number: `${id}`,
  status: "completed",
  currency: "EUR",
  total: "10.00",
  date_created_gmt: AT,
  refunds: [],
  line_items: Array.from({ length: lines }, (_, index) => ({
    id: id * 1000 + index,
    name: "A",
    product_id: 1000,
    quantity: 1,
    subtotal: "1.00",
    total: "1.00",
    meta_data: [{ key: "plugin", value: "x".repeat(200) }],
  })),
});

test("orders and products whose page is longer than an answer may be are read in parts", async (context) => {
  const orders = Array.from({ length: 60 }, (_, index) => orderOf(index + 1, index === 7 ? 250 : 5));
  const longest: number[] = [];
  const server = await serveLoopback(
    0,
    async (request, response) => {
      const { pathname, searchParams: query } = new URL(request.url ?? "", "http://shop.example");
      const route = pathname.replace("/wp-json/wc/v3/", "");
      if (route === "data/currencies/current") return sendJson(response, 200, { code: "EUR" });
      const all = query.get("status") === "trash" ? [] : route === "orders" ? orders : PRODUCTS;
      const include = query.get("include")?.split(",").map(Number);
      const offset = Number(query.get("offset") ?? 0);
      const rows =
        include === undefined
          ? all.slice(offset, offset + 100).map(({ id }) => ({ id }))
          : all.filter(({ id }) => include.includes(id));
      longest.push(include?.length ?? 0);
      sendJson(response, 200, rows, { "x-wp-total": `${all.length}` });
    },
    (response, error) => sendJson(response, 500, { message: String(error) }),
  );
  context.after(() => server.stop());
  const shopKey = await shop.open();
  const sync = (maxAnswerBytes: number) =>
    createWooConnector({ maxAnswerBytes }).sync({
      database: shop.database,
      shopKey,
      cursor: null,
      currencyCode: "EUR",
      kind: "backfill",
      settings: { url: server.url },
      credentials: memoryCredentials({ consumerKey: "ck_any:cs_any" }),
      signal: new AbortController().signal,
      now: () => new Date("2026-06-01T00:00:00Z"),
      progress: () => {},
    });
  await putConnection(shop.database, {
    shopKey,
    source: "woocommerce",
    kind: "store",
    settings: { url: server.url },
    sealedCredentials: Buffer.alloc(0),
  });
  // One order alone takes as much.
  await assert.rejects(sync(60_000), /A response from WooCommerce is larger than the limit\./u);
  const { counts } = await sync(100_000);
  assert.deepEqual([counts["orders"], counts["order_lines"], counts["products"]], [60, 59 * 5 + 250, 30]);
  assert.ok(longest.includes(60) && longest.includes(30));
});
