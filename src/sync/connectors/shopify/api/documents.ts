import { readFileSync } from "node:fs";

/** A GraphQL document of the folder `documents`; errors name the document. */
export type Document = { name: string; text: string };

const FRAGMENTS = readFragments();

/** What is asked page by page. */
export const DOCUMENTS = {
  shop: readDocument("shop"),
  bulkRun: readDocument("bulk-run"),
  bulkPoll: readDocument("bulk-poll"),
  bulkCancel: readDocument("bulk-cancel"),
  changedOrders: readDocument("changed-orders"),
  changedProducts: readDocument("changed-products"),
  products: readDocument("products"),
  productVariants: readDocument("product-variants"),
  orders: readDocument("orders"),
  orderLines: readDocument("order-lines"),
  orderReturns: readDocument("order-returns"),
  returnLines: readDocument("return-lines"),
  orderAgreements: readDocument("order-agreements"),
  agreementSales: readDocument("agreement-sales"),
  refunds: readDocument("refunds"),
  refundLines: readDocument("refund-lines"),
  trackings: readDocument("trackings"),
  reverseOrders: readDocument("reverse-orders"),
  reverseDeliveries: readDocument("reverse-deliveries"),
} as const;

/** What bulk operations are given; these take no variables. */
export const BULK_DOCUMENTS = {
  orders: readDocument("bulk-orders"),
  returns: readDocument("bulk-returns"),
  ledger: readDocument("bulk-ledger"),
} as const;

const BULK_PRODUCTS = readDocument("bulk-products");
const METAFIELD_FIELD = /\bmetafield\([^)]*\) \{[^}]*\}/;

/** A metafield of products; both names hold letters, digits, `_`, `-`, `$` and `:` only. */
export type MetafieldName = { namespace: string; key: string };

/** The bulk document of products, with the metafield that names their family, if any does. */
export function bulkProductsDocument(metafield: MetafieldName | null): Document {
  const { name, text } = BULK_PRODUCTS;
  if (metafield === null) return { name, text: text.replace(METAFIELD_FIELD, "") };
  const { namespace, key } = metafield;
  return {
    name,
    text: text.replace("METAFIELD_NAMESPACE", () => namespace).replace("METAFIELD_KEY", () => key),
  };
}

/** With the fragments it spreads, and those that these spread. */
function readDocument(name: string): Document {
  let text = readText(name);
  const added = new Set<string>();
  for (let spread = nextSpread(text, added); spread !== null; spread = nextSpread(text, added)) {
    added.add(spread);
    text += `\n${FRAGMENTS.get(spread) ?? ""}`;
  }
  return { name, text };
}

function nextSpread(text: string, added: ReadonlySet<string>): string | null {
  const spreads = [...text.matchAll(/\.\.\.(\w+Fields)\b/g)].map((match) => match[1] ?? "");
  return spreads.find((spread) => !added.has(spread)) ?? null;
}

function readFragments(): ReadonlyMap<string, string> {
  const fragments = readText("fragments").split(/^(?=fragment )/m);
  return new Map(fragments.map((text) => [/^fragment (\w+)/.exec(text)?.[1] ?? "", text]));
}

function readText(name: string): string {
  return readFileSync(new URL(`../documents/${name}.graphql`, import.meta.url), "utf8");
}
