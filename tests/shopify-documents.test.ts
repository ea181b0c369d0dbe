import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { buildSchema, parse, validate } from "graphql";
import { readBulkQuery } from "../simulators/shopify/bulk/rules.ts";
import {
  BULK_DOCUMENTS,
  bulkProductsDocument,
  DOCUMENTS,
} from "../src/sync/connectors/shopify/api/documents.ts";
import { CONNECT_DOCUMENTS } from "../src/sync/connectors/shopify/webhooks/documents.ts";

const schema = buildSchema(
  readFileSync(new URL("../simulators/shopify/admin-2026-10.graphql", import.meta.url), "utf8"),
);

const METAFIELD = { namespace: "custom", key: "size_chart" };
const BULK = [...Object.values(BULK_DOCUMENTS), bulkProductsDocument(null), bulkProductsDocument(METAFIELD)];

for (const { name, text } of [...Object.values(DOCUMENTS), ...Object.values(CONNECT_DOCUMENTS), ...BULK]) {
  test(`the document ${name} is valid in the platform's schema and names no customer`, () => {
    assert.deepEqual(validate(schema, parse(text)), []);
    assert.doesNotMatch(text, /customer|email|phone|address|displayName|note\b/i);
  });
}

for (const { name, text } of BULK) {
  test(`the document ${name} keeps the rules of bulk operations`, () => {
    assert.equal(readBulkQuery(schema, text).root.kind, "Field");
  });
}

test("the metafield of a family stands in the bulk document of products only when it is named", () => {
  assert.match(bulkProductsDocument(METAFIELD).text, /metafield\(namespace: "custom", key: "size_chart"\)/);
  assert.doesNotMatch(bulkProductsDocument(null).text, /metafield/i);
});
