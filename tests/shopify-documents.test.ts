import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { buildSchema, parse, validate } from "graphql";
import { readBulkQuery } from "../simulators/shopify/bulk/rules.ts";
import {
  BULK_DOCUMENTS,
  bulkProductsDocument,
  DOCUMENTS,
  productsDocument,
} from "../src/sync/connectors/shopify/api/documents.ts";

const schema = buildSchema(
  readFileSync(new URL("../simulators/shopify/admin-2026-10.graphql", import.meta.url), "utf8"),
);

const METAFIELD = { namespace: "custom", key: "size_chart" };
const BULK = [...Object.values(BULK_DOCUMENTS), bulkProductsDocument(null), bulkProductsDocument(METAFIELD)];

const PAGES = [...Object.values(DOCUMENTS), productsDocument(null), productsDocument(METAFIELD)];

for (const { name, text } of [...PAGES, ...BULK]) {
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

test("the metafield of a family stands in the documents of products only when it is named", () => {
  for (const documentOf of [bulkProductsDocument, productsDocument]) {
    assert.match(
      documentOf(METAFIELD).text,
      /metafield\(namespace: "custom", key: "size_chart"\) \{ value \}/,
    );
    assert.doesNotMatch(documentOf(null).text, /metafield/i);
  }
});
