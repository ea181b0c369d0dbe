import assert from "node:assert/strict";
import { test } from "node:test";
import { PAGES } from "../src/console/registry.ts";
import type { StoreFiles } from "./oracle/store.ts";
import { makeUserLink } from "./support/console-person.ts";
import { createStoreTenant, importStore } from "./support/import-store.ts";
import { STORE_TEXTS } from "./support/input-corpus.ts";
import { readMarkup, type MarkupElement } from "./support/markup.ts";
import { actAs, type Member } from "./support/scene.ts";
import { service } from "./support/shared-service.ts";
import { createTenant, insertRows, type Tenant } from "./support/tenants.ts";

/**
 * Texts of a store that look like markup stay text: a page about them has the elements and attributes of a page about
 * harmless words, and every text of it is the same, byte for byte. The reader of both refuses whatever is not escaped.
 */

/** A breakdown has twenty rows, the last of them for the rest. */
const TEXTS_PER_STORE = 18;
const MONTHS = "start_month=2025-10&end_month=2026-02&include_incomplete=true";

/** A store with one product, SKU, vendor, family, category, reason and sale event of each text; each sells differently. */
function storeOf(texts: readonly string[]): StoreFiles {
  const numbered = texts.map((text, index) => ({ text, index, id: String(index) }));
  const lines = numbered.flatMap(({ text, index, id }) =>
    ["2025-10", "2025-11", "2025-12"].map((month) => ({
      order_id: `${month} ${id}`,
      line_id: "1",
      ordered_at: `${month}-05T10:00:00Z`,
      product_id: id,
      variant_id: id,
      sku: text,
      units: 100 - index,
    })),
  );
  return {
    products: numbered.map(({ text, id }) => ({
      product_id: id,
      title: text,
      vendor: text,
      family: text,
      analytics_category: text,
    })),
    variants: numbered.map(({ text, id }) => ({
      variant_id: id,
      product_id: id,
      sku: text,
      unit_cost: "3.00",
    })),
    order_lines: lines,
    returns: lines.map(({ order_id, product_id }) => ({
      return_id: order_id,
      order_id,
      line_id: "1",
      status: "CLOSED" as const,
      units: 40 - Number(product_id),
      closed_at: `${order_id.slice(0, 7)}-20T10:00:00Z`,
      // One word would be shown with a capital.
      reason: `${texts[Number(product_id)]}!`,
    })),
    refunds: lines.map(({ order_id, product_id }) => ({
      refund_id: order_id,
      order_id,
      line_id: "1",
      refunded_at: `${order_id.slice(0, 7)}-21T10:00:00Z`,
      units: 40 - Number(product_id),
      subtotal: `${900 - 10 * Number(product_id)}.00`,
      return_id: order_id,
    })),
    sale_events: numbered.map(({ text, index, id }) => ({
      slug: `event-${id}`,
      label: text,
      starts_on: `2025-11-${String(index + 1).padStart(2, "0")}`,
      ends_on: "2025-11-28",
    })),
  };
}

type Shop = {
  tenant: Tenant;
  reader: Member;
  /** Gives the person who reads its pages another name. */
  rename: (to: string) => Promise<void>;
};

/** A workspace with that store and its alerts, and a person who reads its pages. */
async function open(texts: readonly string[]): Promise<Shop> {
  const tenant = await createStoreTenant(service, { min_sold_units: 1 });
  await importStore(service, tenant, {
    currencyCode: "EUR",
    asOf: "2026-02-20T00:00:00Z",
    files: storeOf(texts),
  });
  const { database } = service;
  await database.query("delete from alert where shop_key = $1", [tenant.shopKey]);
  await insertRows(
    database,
    "alert",
    texts.map((text, index) => alertOf(tenant, text, index)),
  );
  await watchEverything(tenant, texts[0] ?? "");
  const { shopDomain } = tenant;
  const reader = await actAs(service, tenant, "owner", shopDomain);
  let name = shopDomain;
  const rename = async (to: string): Promise<void> => {
    await database.query("update console_user set name = $2 where name = $1", [name, to]);
    name = to;
  };
  return { tenant, reader, rename };
}

/** Watches everything that can be watched, and requests a plan with these words. */
async function watchEverything({ shopKey }: Tenant, reason: string): Promise<void> {
  const { database } = service;
  for (const watched of [
    "select shop_key, 'sku', sku from sku where shop_key = $1",
    "select shop_key, 'product', product_gid from product where shop_key = $1",
    "select shop_key, product_group_type, entity_key from entity where shop_key = $1 and type_rank = 3",
  ]) {
    await database.query(`insert into watchlist_entry (shop_key, entity_kind, entity_key) ${watched}`, [
      shopKey,
    ]);
  }
  await database.query("update workspace set plan_key = 'enterprise' where shop_key = $1", [shopKey]);
  // The page of plans lists all of the installation.
  await database.query("delete from plan where plan_key = $1", [`plan-${shopKey}`]);
  const request = { shop_key: shopKey, plan_key: "scale", asked_by: "owner", asked_at: "2026-02-01" };
  await insertRows(database, "plan_request", [{ ...request, reason }]);
}

const KINDS = ["early_warning", "month", null];

function alertOf({ shopKey }: Tenant, text: string, index: number) {
  return {
    shop_key: shopKey,
    alert_id: `alert-${index}`,
    event_key: `alert ${index}`,
    category: "return_rate_watchlist",
    severity: "warning",
    title: text,
    body: text,
    created_at: new Date(Date.UTC(2026, 1, 1, 0, index)),
    metadata: JSON.stringify({
      kind: KINDS[index % KINDS.length],
      sku: text,
      top_reason: { reason: `${text}!`, share: 0.5 },
      parts: [
        { sku: text, label: text, excess_lines: 1 },
        { product_group_type: "family", product_group_key: text, excess_lines: 2 },
      ],
      cohort_month: "2025-11",
    }),
  };
}

type Reading = { skeleton: string[]; texts: string[] };

/** Every element with the names of its attributes, and every text and value, with decoded addresses and without written requests. */
function readingOf(markup: string): Reading {
  const skeleton: string[] = [];
  const texts: string[] = [];
  const walk = ({ name, attributes, children }: MarkupElement, depth: number): void => {
    skeleton.push(`${depth}${name} ${Object.keys(attributes).join(" ")}`);
    texts.push(...Object.entries(attributes).map(([key, value]) => `${key}=${plainValue(value)}`));
    if ("data-form" in attributes) return;
    for (const child of children) {
      if (typeof child === "string") texts.push(child);
      else walk(child, depth + 1);
    }
  };
  walk(readMarkup(markup), 0);
  // Lists are sorted by name.
  return { skeleton: skeleton.toSorted(), texts: texts.toSorted() };
}

function plainValue(value: string): string {
  if (!/^(?:https?:\/\/|[/?])/u.test(value)) return value;
  return `${value.split("?")[0]}?${[...new URL(value, "http://x").searchParams].join("&")}`;
}

async function read(reader: Pick<Member, "get">, path: string): Promise<Reading> {
  const { status, text } = await reader.get(path);
  assert.equal(status, path.endsWith(REFUSED) ? 400 : 200, path);
  return readingOf(text);
}

const REFUSED = "-none";
/** The key of a form that was never sent, and the current minute. */
const VARYING =
  /^value=[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$|\b\d{1,2} [A-Z][a-z]{2} \d{4}, \d\d:\d\d/gu;

/** Every page, and a report of each selection of the text with that index. */
function pathsOf(texts: readonly string[]): string[] {
  const text = (index: number): string => encodeURIComponent(texts[index % texts.length] ?? "");
  const breakdowns = ["vendor", "product", "sku", "family", "analytics_category"];
  return [
    ...PAGES.map(({ path }) => `${path}?${MONTHS}`),
    `/report?${MONTHS}&reportSection=reasons`,
    ...breakdowns.map((by) => `/report?${MONTHS}&reportSection=breakdown&breakdownBy=${by}`),
    ...["sku", "product_group"].map((type) => `/products?type=${type}`),
    `/sale-events?${MONTHS}&page=2`,
    ...texts.flatMap((_, index) => [
      `/report?${MONTHS}&${selection(text(index), index)}&saleEvent=event-${index}`,
      `/products?q=${text(index)}&vendor=nobody`,
    ]),
    ...["", "/watchlist", "/sale-events", "/plan", "/windows"].map((path) => `/settings${path}`),
    `/settings/watchlist?type=sku&key=${text(0)}`,
    `/settings/sale-events?slug=event-0&sku=${text(1)}`,
    `/settings/sale-events?sku=${text(2)}`,
    `/cohorts?${MONTHS}&product_group_type=family&product_group_key=${text(0)}`,
    `/products?vendor=${text(1)}`,
    `/report?${MONTHS}&sku=${text(2)}${REFUSED}`,
  ];
}

function selection(text: string, index: number): string {
  const forms = [
    `sku=${text}`,
    `product_gid=${encodeURIComponent(`gid://import/Product/${index}`)}`,
    `product_group_type=family&product_group_key=${text}`,
    `vendor=${text}`,
  ];
  return forms[index % forms.length] ?? "";
}

/** A word of letters only, so that nothing is parsed as something else; none is the beginning of another. */
const harmless = (number: number): string =>
  `Harmless ${String.fromCodePoint(0x61 + (number % 26), 0x61 + Math.floor(number / 26))} words`;

type Plain = { texts: readonly string[]; shopDomain: string; readings: readonly Reading[] };

/** The pages of stores by their number of harmless texts, each read once. */
const plains = new Map<number, Promise<Plain>>();

async function readPlain(count: number): Promise<Plain> {
  const texts = Array.from({ length: count }, (_, index) => harmless(index));
  const shop = await open(texts);
  const readings: Reading[] = [];
  for (const [number, path] of pathsOf(texts).entries()) {
    await shop.rename(texts[number % count] ?? "");
    readings.push(await read(shop.reader, path));
  }
  return { texts, shopDomain: shop.tenant.shopDomain, readings };
}

for (let start = 0; start < STORE_TEXTS.length; start += TEXTS_PER_STORE) {
  const hostile = STORE_TEXTS.slice(start, start + TEXTS_PER_STORE);
  test(`texts ${start + 1} to ${start + hostile.length} of the corpus stay texts on every page`, async () => {
    const plain = plains.get(hostile.length) ?? readPlain(hostile.length);
    plains.set(hostile.length, plain);
    const { texts, shopDomain, readings } = await plain;
    const shop = await open(hostile);
    const ofPlain = new RegExp(texts.join("|"), "gu");
    const meant = (text: string): string =>
      text
        .replaceAll(ofPlain, (word) => hostile[texts.indexOf(word)] ?? "")
        .replaceAll(shopDomain, shop.tenant.shopDomain);
    for (const [number, path] of pathsOf(hostile).entries()) {
      await shop.rename(hostile[number % hostile.length] ?? "");
      const ought = readings[number] ?? assert.fail(path);
      assert.deepEqual(
        await read(shop.reader, path),
        { ...ought, texts: ought.texts.map(meant).toSorted() },
        path,
      );
    }
  });
}

test("the names of a member and of a token stay texts on the pages of settings", async () => {
  const { database } = service;
  const tenant = await createTenant(database);
  const { shopKey: shop_key, tokenId: token_id } = tenant;
  // One person may open only 300 pages a minute.
  const owners = await Promise.all([1, 2, 3].map((n) => actAs(service, tenant, "owner", `Owner ${n}`)));
  let turn = 0;
  const { user_id: id } = await makeUserLink(service, { name: "Renamed", shopDomain: tenant.shopDomain });
  const request = { endpoint: "alerts", surface: "rest", outcome: "ok", requests: 1, quota_requests: 1 };
  const day = new Date().toISOString().slice(0, 10);
  await insertRows(database, "usage_detail", [{ ...request, shop_key, token_id, day }]);
  const pages = ["members", `members/${id}`, "audit", "tokens", `tokens/${token_id}`, "usage"];
  const readAll = async (name: string): Promise<Reading[]> => {
    await database.query("update console_user set name = $2 where user_id = $1", [id, name]);
    await database.query("update api_token set name = $2 where token_id = $1", [token_id, name]);
    const owner = owners[turn++ % owners.length] ?? assert.fail();
    const readings = await Promise.all(pages.map((page) => read(owner, `/settings/${page}`)));
    return readings.map(({ skeleton, texts }) => ({
      skeleton,
      texts: texts
        .map((text) => text.replaceAll(VARYING, "<varying>").replaceAll(/Owner \d/gu, "Owner"))
        .toSorted(),
    }));
  };
  // The list says when somebody was last seen.
  for (let owner = 0; owner < owners.length; owner++) await readAll("Harmless words");
  const plain = await readAll("Harmless words");
  assert.ok(plain.every(({ texts }) => texts.some((text) => text.includes("Harmless words"))));
  for (const hostile of STORE_TEXTS) {
    const ought = plain.map(({ skeleton, texts }) => ({
      skeleton,
      texts: texts.map((text) => text.replaceAll("Harmless words", () => hostile)).toSorted(),
    }));
    assert.deepEqual(await readAll(hostile), ought, hostile);
  }
});
