import assert from "node:assert/strict";
import { test } from "node:test";
import { csv, startImportWorkspace } from "../../tests/support/import-workspace.ts";
import { warningNotes } from "./project.ts";
import { use } from "../../tests/support/use.ts";

const shop = use(startImportWorkspace);

const ADDRESSES = [
  ["p1", "https://images.example/1.jpg", true],
  ["p2", "HTTP://images.example/2.jpg", true],
  ["p3", "javascript:alert(1)", false],
  ["p4", "data:image/svg+xml;base64,AAAA", false],
  ["p5", "//images.example/5.jpg", false],
  ["p6", "file:///etc/passwd", false],
  ["p7", "https://", false],
  ["p8", "", true],
] as const;

test("an image address that is not http(s) is left out with a warning, and the product or variant stays", async () => {
  const shopKey = await shop.open();
  const products = csv(
    "product_id,title,image_url",
    ...ADDRESSES.map(([id, url]) => `${id},Product,"${url}"`),
  );
  const variants = csv(
    "variant_id,product_id,image_url",
    ...ADDRESSES.map(([id, url]) => `${id}-v,${id},"${url}"`),
  );
  const lines = csv("order_id,line_id,ordered_at,sku,units", "o1,l1,2026-05-31T10:00:00Z,A,5");
  const { imported, warnings } = await shop.import(shopKey, {
    "products.csv": products,
    "variants.csv": variants,
    "order_lines.csv": lines,
  });
  assert.equal(imported, true);
  const message =
    "products or variants have an image address that does not begin with http:// or https://; it is left out";
  assert.deepEqual(warnings, [{ kind: "unusable_image", file: null, message, count: 10 }]);
  const expected = ADDRESSES.map(([, url, isUsable]) => (isUsable && url !== "" ? url : null));
  for (const table of ["product", "variant"]) {
    const rows = await shop.rows<{ image_url: string | null }>(
      `select image_url from ${table} where shop_key = $1 order by product_gid`,
      [shopKey],
    );
    assert.deepEqual(
      rows.map((row) => row.image_url),
      expected,
    );
  }
  assert.deepEqual(warningNotes(new Map([["unusable_image", 5]])), [`5 ${message}.`]);
});
