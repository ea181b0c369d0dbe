import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { CalledAnswer } from "./support/service.ts";
import { service } from "./support/shared-service.ts";
import { createTenant, insertRows } from "./support/tenants.ts";

const ENTITIES = "/api/v1/entities";
const ALERTS = "/api/v1/alerts";

// Texts whose order differs by code point, by UTF-16 unit, by case and by accent.
const LETTERS = ["A", "B", "a", "Z", "z", "É", "E\u0301"];
const LABELS = ["", " ", ...LETTERS, "\uFFFD", "\u{1F600}", "\u{10FFFD}", "10", "9"];

const tenant = await createTenant(service.database);
const other = await createTenant(service.database);
for (const { shopKey } of [tenant, other]) {
  await insertRows(service.database, "entity", entityRows(shopKey));
  await insertRows(service.database, "alert", alertRows(shopKey));
}

type Params = Record<string, string | number>;

const ask = (path: string, params: Params, token = tenant.token): Promise<CalledAnswer> =>
  service.call(path, { token, params });

type EntityRow = {
  shop_key: number;
  type_rank: number;
  label: string;
  entity_key: string;
  [column: string]: unknown;
};

/** SKUs, products that share titles, and families and categories of the same names. */
function entityRows(shopKey: number): EntityRow[] {
  const row = (rank: number, label: string, key: string, groupType: string, index: number) => ({
    shop_key: shopKey,
    type_rank: rank,
    label,
    entity_key: key,
    product_group_type: groupType,
    sku: rank === 1 ? key : null,
    product_gid: rank === 2 ? key : null,
    vendor: rank === 3 ? null : ["Nordwind", "Südstern"][index % 2],
    search_text: label,
  });
  return LABELS.flatMap((label, index) => [
    row(1, `sku ${label}`, `sku ${label}`, "", index),
    ...["a", "B", "\u{1F600}"].map((suffix) => row(2, `title ${label}`, `gid ${label}${suffix}`, "", index)),
    ...["analytics_category", "family"].map((type) =>
      row(3, `group ${label}`, `group ${label}`, type, index),
    ),
  ]);
}

/** Nineteen alerts at four instants, a microsecond apart. */
function alertRows(shopKey: number): { alert_id: string; created_at: string; [column: string]: unknown }[] {
  return Array.from({ length: 19 }, (_, index) => ({
    shop_key: shopKey,
    alert_id: `alert-${String((index * 7) % 19).padStart(2, "0")}`,
    event_key: `event-${index}`,
    recipient: null,
    category: index % 3 === 0 ? "report_ready" : "connection_stale",
    severity: "info",
    title: "Something happened",
    created_at: `2026-06-01T08:00:00.00000${index % 4}Z`,
  }));
}

/** The contract's order, compared by UTF-8 bytes, which sort like code points. */
function byCodePoint(left: readonly string[], right: readonly string[]): number {
  for (const [index, text] of left.entries()) {
    const order = Buffer.compare(Buffer.from(text), Buffer.from(right[index] ?? ""));
    if (order !== 0) return order;
  }
  return 0;
}

function expectedEntities(matches: (row: EntityRow) => boolean): string[] {
  return entityRows(tenant.shopKey)
    .filter(matches)
    .map((row) => [String(row.type_rank), row.label, row.entity_key, String(row["product_group_type"])])
    .toSorted(byCodePoint)
    .map((parts) => parts.join(" | "));
}

function entityName(entity: Record<string, unknown>): string {
  const rank = { sku: "1", product: "2", product_group: "3" }[String(entity["type"])];
  const key = entity["sku"] ?? entity["product_gid"] ?? entity["product_group_key"];
  return [rank, entity["label"], key, entity["product_group_type"] ?? ""].join(" | ");
}

/** Follows next_cursor to the end, with the page sizes in turn; returns the rows of all pages. */
async function walk(
  path: string,
  params: Record<string, string>,
  limits: readonly number[],
): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < 200; page++) {
    const limit = limits[page % limits.length] ?? 1;
    const position: Record<string, string> = cursor === null ? {} : { cursor };
    const answer = await ask(path, { ...params, ...position, limit });
    assert.equal(answer.status, 200);
    const { data, meta } = answer.json();
    assert.equal(meta["returned"], data.length);
    assert.ok(data.length === limit || meta["next_cursor"] === null, "only the last page may be short");
    rows.push(...data);
    cursor = meta["next_cursor"] as string | null;
    if (cursor === null) return rows;
  }
  assert.fail("the pages do not end");
}

const pageSizes = [[1], [7], [100], [1, 7, 2, 100]];

describe("entities", () => {
  const filters: [params: Record<string, string>, matches: (row: EntityRow) => boolean][] = [
    [{}, () => true],
    [{ type: "sku" }, (row) => row.type_rank === 1],
    [{ type: "product" }, (row) => row.type_rank === 2],
    [{ type: "product_group" }, (row) => row.type_rank === 3],
    [{ vendor: "Nordwind" }, (row) => row["vendor"] === "Nordwind"],
    [{ vendor: "Südstern", type: "product" }, (row) => row["vendor"] === "Südstern" && row.type_rank === 2],
  ];
  for (const [params, matches] of filters) {
    test(`every row once, by type, label and key, whatever the pages: ${JSON.stringify(params)}`, async () => {
      const expected = expectedEntities(matches);
      assert.ok(expected.length > 10);
      for (const limits of Object.keys(params).length > 0 ? [[2], [1, 7, 2, 100]] : pageSizes) {
        const rows = await walk(ENTITIES, params, limits);
        assert.deepEqual(rows.map(entityName), expected, `limits ${limits.join(", ")}`);
      }
    });
  }

  test("a page that ends with the last row has no next_cursor", async () => {
    const count = expectedEntities((row) => row.type_rank === 1).length;
    const answer = await ask(ENTITIES, { type: "sku", limit: count });
    assert.equal(answer.json().meta["next_cursor"], null);
  });

  test("a search is one page: it returns no cursor and accepts none", async () => {
    const searched = await ask(ENTITIES, { q: "title", limit: 2 });
    assert.equal(searched.json().data.length, 2);
    assert.equal(searched.json().meta["next_cursor"], null);
    const cursor = await firstCursor(ENTITIES, {});
    await expectRefusedCursor(ENTITIES, { q: "title", cursor });
  });
});

describe("alerts", () => {
  const idsOf = (rows: Record<string, unknown>[]) => rows.map((row) => row["id"]);
  const newestFirst = (rows: ReturnType<typeof alertRows>): string[] =>
    rows
      .toSorted(
        (left, right) => -byCodePoint([left.created_at, left.alert_id], [right.created_at, right.alert_id]),
      )
      .map((row) => row.alert_id);

  test("every alert once, newest first, also those of the same instant", async () => {
    for (const limits of pageSizes) {
      const rows = await walk(ALERTS, {}, limits);
      assert.deepEqual(idsOf(rows), newestFirst(alertRows(tenant.shopKey)));
    }
  });

  test("a category filters all pages; an unknown one gives an empty list", async () => {
    const expected = newestFirst(
      alertRows(tenant.shopKey).filter((row) => row["category"] === "report_ready"),
    );
    const rows = await walk(ALERTS, { category: "report_ready" }, [2]);
    assert.deepEqual(idsOf(rows), expected);
    assert.deepEqual(await walk(ALERTS, { category: "unheard_of" }, [2]), []);
  });

  test("since is inclusive, in any offset", async () => {
    const count = async (since: string): Promise<number> => (await walk(ALERTS, { since }, [7])).length;
    assert.equal(await count("2026-06-01T08:00:00Z"), 19);
    assert.equal(await count("2026-06-01T10:00:00+02:00"), 19);
    assert.equal(await count("2026-06-01T08:00:00.001Z"), 0);
    const newest = await ask(ALERTS, { limit: 1 });
    assert.equal(await count(String(newest.json().data[0]?.["created_at"])), 19);
  });
});

async function firstCursor(path: string, params: Params): Promise<string> {
  const page = await ask(path, { ...params, limit: 1 });
  const cursor = page.json().meta["next_cursor"];
  assert.ok(typeof cursor === "string");
  return cursor;
}

async function expectRefusedCursor(path: string, params: Params, token = tenant.token): Promise<void> {
  const answer = await ask(path, params, token);
  assert.equal(answer.status, 400, JSON.stringify(params));
  assert.match(answer.message(), /\bcursor\b/u);
}

const FILTERS: readonly [path: string, filters: readonly Params[]][] = [
  [ENTITIES, [{}, { type: "sku" }, { type: "product" }, { vendor: "Nordwind" }, { vendor: "Südstern" }]],
  [
    ALERTS,
    [{}, { since: "2026-01-01T00:00:00Z" }, { category: "report_ready" }, { category: "connection_stale" }],
  ],
];
for (const [path, filters] of FILTERS) {
  describe(`a cursor of ${path}`, () => {
    test("is refused when it is forged or spelled otherwise", async () => {
      const cursor = await firstCursor(path, {});
      const forged = Buffer.from(cursor, "base64url");
      forged[0] = (forged[0] ?? 0) ^ 1;
      for (const text of [forged.toString("base64url"), `${cursor}=`, ` ${cursor}`, "bnVsbA"])
        await expectRefusedCursor(path, { cursor: text });
    });

    test("is refused by the other endpoint and by another workspace", async () => {
      const cursor = await firstCursor(path, {});
      await expectRefusedCursor(path === ALERTS ? ENTITIES : ALERTS, { cursor });
      await expectRefusedCursor(path, { cursor }, other.token);
    });

    test("is refused with other filters, and accepted with the same ones and any limit", async () => {
      for (const made of filters) {
        const cursor = await firstCursor(path, made);
        for (const used of filters) {
          if (used !== made) await expectRefusedCursor(path, { ...used, cursor });
        }
        for (const limit of [1, 2, 100])
          assert.equal((await ask(path, { ...made, cursor, limit })).status, 200);
      }
    });
  });
}
