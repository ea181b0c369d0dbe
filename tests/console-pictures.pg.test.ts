import assert from "node:assert/strict";
import { test } from "node:test";
import { openPage } from "./support/console-person.ts";
import { createStoreTenant, importStore } from "./support/import-store.ts";
import { scene } from "./support/scene.ts";
import { service } from "./support/shared-service.ts";

const SHOPIFY_HOST = "https://cdn.shopify.com";
const PHOTO = `${SHOPIFY_HOST}/s/files/1/lamp.jpg`;

const tenant = await scene({ store: "small" });
const member = await tenant.member();
await service.database.query("update product set image_url = $2 where shop_key = $1", [
  tenant.shopKey,
  PHOTO,
]);

/** The page of products and the images it may load, with a store source of this name. */
async function pageWith(source: string): Promise<{ text: string; images: string }> {
  await service.database.query("update data_source set source = $2 where shop_key = $1 and kind = 'store'", [
    tenant.shopKey,
    source,
  ]);
  await service.database.query("update workspace set data_version = data_version + 1 where shop_key = $1", [
    tenant.shopKey,
  ]);
  const { status, headers, text } = await member.get("/products?type=sku");
  assert.equal(status, 200);
  const policy = headers.get("content-security-policy") ?? "";
  return { text, images: /img-src ([^;]*)/u.exec(policy)?.[1] ?? "" };
}

test("pages load images from Shopify's host when Shopify is connected, and else from the service alone", async () => {
  const shopify = await pageWith("shopify");
  assert.equal(shopify.images, `'self' ${SHOPIFY_HOST}`);
  assert.ok(shopify.text.includes(`src="${PHOTO}"`));
  const imported = await pageWith("csv");
  assert.equal(imported.images, "'self'");
  assert.doesNotMatch(imported.text, /<img|cdn\.shopify/u);
});

test("a SKU is shown with its variant's picture, the new one's before the used one's, else with its product's", async () => {
  const red = `${SHOPIFY_HOST}/red.png`;
  const shop = await createStoreTenant(service, { min_sold_units: 1 });
  const files = {
    products: [{ product_id: "p", title: "Hat", image_url: PHOTO, image_alt: "A blue hat" }],
    variants: [
      {
        variant_id: "v1",
        product_id: "p",
        sku: "RED",
        condition: "used",
        image_url: `${SHOPIFY_HOST}/worn.png`,
      },
      { variant_id: "v2", product_id: "p", sku: "RED", condition: "new", image_url: red },
      { variant_id: "v3", product_id: "p", sku: "BLUE" },
    ],
    order_lines: [
      { order_id: "o1", line_id: "l1", ordered_at: "2026-01-05T10:00:00Z", variant_id: "v2", units: 4 },
      { order_id: "o1", line_id: "l2", ordered_at: "2026-01-05T10:00:00Z", variant_id: "v3", units: 4 },
    ],
    refunds: ["l1", "l2"].map((line) => ({
      refund_id: line,
      order_id: "o1",
      line_id: line,
      refunded_at: "2026-01-09T00:00:00Z",
      units: 1,
      subtotal: "5.00",
      restock_type: "RETURN",
    })),
  };
  await importStore(service, shop, {
    currencyCode: "EUR",
    asOf: "2026-06-01T00:00:00Z",
    files: files as never,
  });
  type Row = { sku?: string; key?: string; product_image_url: string; product_image_alt_text?: string };
  const ask = async (path: string, params: string): Promise<Record<string, string>> => {
    const { data } = (
      await service.call(path, { params, token: shop.token, isUnlimited: true })
    ).json() as unknown as {
      data: Row[] | { rows: Row[] } | { breakdown: { rows: Row[] } };
    };
    const rows = Array.isArray(data) ? data : "rows" in data ? data.rows : data.breakdown.rows;
    return Object.fromEntries(
      rows.map((row) => [
        row.sku ?? row.key ?? "",
        [row.product_image_url, row.product_image_alt_text].filter((text) => text !== undefined).join(" "),
      ]),
    );
  };
  const months = "start_month=2026-01&end_month=2026-01";
  const both = { RED: red, BLUE: PHOTO };
  assert.deepEqual(await ask("/api/v1/entities", "type=sku&fields=all"), both);
  assert.deepEqual(await ask("/api/v1/entities", "type=sku&q=red&fields=all"), { RED: red });
  assert.deepEqual(await ask("/api/v1/entities", "type=product&fields=all"), { "": PHOTO });
  for (const name of ["return-rate", "return-cost"]) {
    // The product's text describes its own picture.
    const described = { RED: `${red} `, BLUE: `${PHOTO} A blue hat` };
    assert.deepEqual(await ask(`/api/v1/leaderboards/${name}`, months), described);
  }
  const divided = (by: string) =>
    ask("/api/v1/report", `reportSection=breakdown&breakdownBy=${by}&${months}`);
  assert.deepEqual(await divided("sku"), { ...both, other: "" });
  assert.deepEqual(await divided("product"), { "gid://import/Product/p": PHOTO, other: "" });
});

test("the service has the demo store's pictures, and no others, all of them one route of metrics and logs", async () => {
  for (const name of ["table-lamp-brass", "mug-green"]) {
    const { status, headers, text } = await openPage(service, `/demo/pictures/${name}.svg?size=1`);
    assert.equal(status, 200, name);
    assert.equal(headers.get("content-type"), "image/svg+xml");
    assert.equal(headers.get("content-security-policy"), "default-src 'none'");
    assert.match(text, /^<svg /u);
  }
  assert.equal((await openPage(service, "/demo/pictures/")).status, 404);
  const other = await openPage(service, "/demo/pictures/other.svg");
  const routes = service.logs.flatMap((line) => /"route":"(\/demo[^"]*)"/u.exec(line)?.[1] ?? []);
  assert.deepEqual([...new Set(routes)], ["/demo/pictures/*"]);
  const elsewhere = await openPage(service, "/demo/elsewhere.svg");
  assert.deepEqual([other.status, other.text], [404, elsewhere.text]);
});
