import assert from "node:assert/strict";
import { test } from "node:test";
import { signInAs } from "./support/console-person.ts";
import { service } from "./support/shared-service.ts";
import { createSmallStore } from "./support/small-store.ts";

const SHOPIFY_HOST = "https://cdn.shopify.com";
const PHOTO = `${SHOPIFY_HOST}/s/files/1/lamp.jpg`;

const tenant = await createSmallStore(service.database);
await service.database.query("update product set image_url = $2 where shop_key = $1", [
  tenant.shopKey,
  PHOTO,
]);

/** The page of products and what it may load, with a store source of this name. */
async function pageWith(source: string): Promise<{ text: string; images: string }> {
  await service.database.query("update data_source set source = $2 where shop_key = $1 and kind = 'store'", [
    tenant.shopKey,
    source,
  ]);
  await service.database.query("update workspace set data_version = data_version + 1 where shop_key = $1", [
    tenant.shopKey,
  ]);
  const cookie = await signInAs(service, { name: "Member", shopDomain: tenant.shopDomain });
  const address = `${service.address}/w/${tenant.shopDomain}/products?type=sku`;
  const response = await fetch(address, { headers: { cookie } });
  assert.equal(response.status, 200);
  const policy = response.headers.get("content-security-policy") ?? "";
  return { text: await response.text(), images: /img-src ([^;]*)/u.exec(policy)?.[1] ?? "" };
}

test("pages load images from Shopify's host when Shopify is connected, and else from the service alone", async () => {
  const shopify = await pageWith("shopify");
  assert.equal(shopify.images, `'self' ${SHOPIFY_HOST}`);
  assert.ok(shopify.text.includes(`src="${PHOTO}"`));
  const imported = await pageWith("csv");
  assert.equal(imported.images, "'self'");
  assert.doesNotMatch(imported.text, /<img|cdn\.shopify/u);
});

test("the service has the demo store's pictures, and no others", async () => {
  const response = await fetch(`${service.address}/demo/pictures/table-lamp-brass.svg`);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "image/svg+xml");
  assert.equal(response.headers.get("content-security-policy"), "default-src 'none'");
  assert.match(await response.text(), /^<svg /u);
  assert.equal((await fetch(`${service.address}/demo/pictures/other.svg`)).status, 404);
  assert.equal((await fetch(`${service.address}/demo/pictures/`)).status, 404);
});

test("all pictures are one route of metrics and logs, and one that is not there answers as any unknown path", async () => {
  for (const name of ["table-lamp-brass", "mug-green", "other"]) {
    const picture = await fetch(`${service.address}/demo/pictures/${name}.svg?size=1`);
    assert.equal(picture.status, name === "other" ? 404 : 200, name);
    await picture.text();
  }
  const routes = service.logs.flatMap((line) => /"route":"(\/demo[^"]*)"/u.exec(line)?.[1] ?? []);
  assert.deepEqual([...new Set(routes)], ["/demo/pictures/*"]);
  const unknown = await fetch(`${service.address}/demo/pictures/other.svg`);
  const elsewhere = await fetch(`${service.address}/demo/elsewhere.svg`);
  assert.equal(await unknown.text(), await elsewhere.text());
});
