/**
 * Writes simulators/shopify/admin-2026-10.graphql: the part of the store platform's published schema that the
 * simulator serves. Usage: node scripts/launch.js scripts/shopify-schema.ts
 *
 * A kept type keeps every field that ends in a scalar or an enum, and every field that leads to another kept
 * type, with its real arguments. So a document with real fields of these types validates, an invented one does not.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { buildClientSchema, isCompositeType, getNamedType, parse, printSchema, TypeInfo } from "graphql";
import { visit, visitWithTypeInfo } from "graphql";
import type { IntrospectionQuery } from "graphql";
import {
  BULK_DOCUMENTS,
  bulkProductsDocument,
  DOCUMENTS,
  productsDocument,
} from "../src/sync/connectors/shopify/api/documents.ts";
import { runTool } from "./lint/tool.ts";
import { excerptOf } from "./shopify-schema/excerpt.ts";

const SOURCE_PACKAGE = "@shopify/dev-mcp@1.16.0";
const SOURCE_FILE = "package/dist/data/admin_2026-10.json.gz";

const root = join(import.meta.dirname, "..");
const target = join(root, "simulators", "shopify", "admin-2026-10.graphql");

const published = readPublished();
const excerpt = excerptOf(published, typesOfDocuments(published));
const excerptText = printSchema(buildClientSchema(excerpt)).replaceAll(
  /@deprecated\(reason: "(?:[^"\\]|\\.)*"\)/g,
  "@deprecated",
);
writeFileSync(target, `${excerptText}\n`);
process.exitCode = runTool("oxfmt/bin/oxfmt", [target]);

/** The introspection result of the published package, fetched by npm and read without running any of it. */
function readPublished(): IntrospectionQuery {
  const folder = mkdtempSync(join(tmpdir(), "shopify-schema-"));
  try {
    const packed = execFileSync("npm", ["pack", SOURCE_PACKAGE, "--silent"], {
      cwd: folder,
      encoding: "utf8",
    });
    execFileSync("tar", ["-xzf", packed.trim(), SOURCE_FILE], { cwd: folder });
    const json = JSON.parse(gunzipSync(readFileSync(join(folder, SOURCE_FILE))).toString("utf8")) as {
      data: IntrospectionQuery;
    };
    return json.data;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The object types that the connector's own documents reach. */
function typesOfDocuments(schemaData: IntrospectionQuery): Set<string> {
  const schema = buildClientSchema(schemaData);
  const found = new Set<string>();
  const metafield = { namespace: "custom", key: "family" };
  const documents = [
    ...Object.values(DOCUMENTS),
    ...Object.values(BULK_DOCUMENTS),
    productsDocument(metafield),
    bulkProductsDocument(metafield),
  ];
  for (const { text } of documents) {
    const info = new TypeInfo(schema);
    const note = (): void => {
      const type = info.getType();
      const named = type === null || type === undefined ? undefined : getNamedType(type);
      if (named !== undefined && isCompositeType(named)) found.add(named.name);
    };
    visit(parse(text), visitWithTypeInfo(info, { Field: note, InlineFragment: note }));
  }
  return found;
}
