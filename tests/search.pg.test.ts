import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fold } from "../src/lib/fold.ts";
import { STATEMENTS, type Connection } from "../src/store/database.ts";
import { isCitus } from "./support/citus.ts";
import { openConnections } from "./support/database.ts";
import { leastParameters } from "./support/requests.ts";
import { ENDPOINTS } from "../src/contract/registry.ts";
import { startTestService, type CalledAnswer } from "./support/service.ts";
import { createTenant, insertRows, type Tenant } from "./support/tenants.ts";
import { before, use } from "./support/use.ts";

const skip = isCitus() && "a Citus plans a search with its values";
const service = use(startTestService);

type Named = readonly [
  type: "sku" | "product" | "product_group",
  label: string,
  title?: string,
  vendor?: string,
];

async function createCatalogue(entities: readonly Named[]): Promise<Tenant> {
  const tenant = await createTenant(service.database);
  const ranks = { sku: 1, product: 2, product_group: 3 };
  const rows = entities.map(([type, label, title = null, vendor = null]) => ({
    shop_key: tenant.shopKey,
    type_rank: ranks[type],
    label,
    entity_key: label,
    product_group_type: type === "product_group" ? "family" : "",
    product_gid: type === "product" ? label : null,
    sku: type === "sku" ? label : null,
    product_title: title,
    vendor,
    search_text: [label, title, vendor].flatMap((text) => (text === null ? [] : [fold(text)])).join("\n"),
  }));
  await insertRows(service.database, "entity", rows);
  return tenant;
}

const ask = (
  tenant: Tenant,
  q: string,
  others: Record<string, string | number> = {},
): Promise<CalledAnswer> =>
  service.call("/api/v1/entities", { token: tenant.token, params: { q, limit: 100, ...others } });

const labelsOf = (answer: CalledAnswer): unknown[] => answer.json().data.map((entity) => entity["label"]);

describe("the order of matches", () => {
  test("is exact SKU, groups and products by name (exact, prefix, substring), then the rest", async () => {
    const tenant = await createCatalogue([
      ["product", "Dress"],
      ["product_group", "Dresses"],
      ["product", "Dress shirt"],
      ["product_group", "Summer dresses"],
      ["product", "Sundress"],
      ["product", "Tie", "Tie", "Dress House"],
      ["sku", "DRESS-1", "Dress"],
      ["sku", "A-DRESS", "Sundress"],
      ["sku", "S-9", "Tie", "Dress House"],
      ["sku", "Dressy"],
    ]);
    const expected = ["Dress", "Dresses", "Dress shirt", "Summer dresses", "Sundress"];
    const ranked = labelsOf(await ask(tenant, "dress"));
    assert.deepEqual(ranked.slice(0, 5), expected);
    assert.deepEqual(new Set(ranked.slice(5)), new Set(["A-DRESS", "DRESS-1", "Dressy", "S-9", "Tie"]));
    assert.equal(ranked.at(-1), "A-DRESS", "inside a field, and at the start of none");
    assert.deepEqual(labelsOf(await ask(tenant, "dress", { limit: 3 })), expected.slice(0, 3));
    assert.equal(labelsOf(await ask(tenant, "dressy"))[0], "Dressy", "an exact SKU is first of all");
  });

  test("holds for one letter, for other scripts, and for special characters of patterns", async () => {
    const tenant = await createCatalogue([
      ["sku", "W_1", "100% wool"],
      ["product", "Лампа Ночь"],
      ["product_group", "ランプ"],
      ["product", "C:\\hat"],
      ["sku", "abcqrstuvmnopqrghijklxyz"],
    ]);
    const expected: Readonly<Record<string, readonly string[]>> = {
      w: ["W_1"],
      ЛАМПА: ["Лампа Ночь"],
      ла: ["Лампа Ночь"],
      ランプ: ["ランプ"],
      "100%": ["W_1"],
      w_1: ["W_1"],
      "abc%xyz": [],
      "%": ["W_1"],
      "\\": ["C:\\hat"],
      "c:\\hat": ["C:\\hat"],
      "%%%": [],
      ___: [],
    };
    for (const [q, labels] of Object.entries(expected))
      assert.deepEqual(labelsOf(await ask(tenant, q)), labels, q);
  });
});

test("a search takes no notice of case, accents and a wrong letter, looks into title and vendor, and is narrowed by type and vendor", async () => {
  const tenant = await createCatalogue([
    ["product", "Crème Brûlée Tee", "Crème Brûlée Tee", "Ångström"],
    ["product", "Tee Shirt", "Tee Shirt", "Nordwind"],
    ["sku", "A-1", "Crème Brûlée Tee", "Ångström"],
    ["sku", "B-1", "Tee Shirt", "Nordwind"],
    ["product_group", "Tops"],
  ]);
  const search = async (q: string, others = {}): Promise<unknown[]> => labelsOf(await ask(tenant, q, others));
  for (const q of ["creme brulee", "CRÈME BRÛLÉE", "crème", "angstrom", "ÅNGSTRÖM"])
    assert.deepEqual(new Set(await search(q)), new Set(["Crème Brûlée Tee", "A-1"]), q);
  for (const q of ["nordwind", "nordwnd"])
    assert.deepEqual(new Set(await search(q)), new Set(["Tee Shirt", "B-1"]), q);
  assert.deepEqual(await search("submarine"), []);
  assert.deepEqual(await search("tee", { type: "product", vendor: "Nordwind" }), ["Tee Shirt"]);
  assert.deepEqual(await search("tops", { vendor: "Nordwind" }), []);
  assert.equal((await search("  ")).length, 5, "blanks alone are no search");
});

test("a text that is longer than 200 characters after case folding is refused", async () => {
  const tenant = await createCatalogue([["sku", "A"]]);
  for (const q of ["\ufdfa".repeat(200), "\ufdfa".repeat(12), "\u3300".repeat(100)]) {
    const answer = await ask(tenant, q);
    assert.equal(answer.status, 400);
    assert.match(answer.message(), /^q must be text of at most 200 characters .*, ligatures .*\.$/u);
  }
  assert.equal((await ask(tenant, "\ufdfa".repeat(11))).status, 200);
});

const WORDS =
  "linden shirt dress vesper slip waxed field jacket glow table lamp merino crew socks canvas tote bag oak shelf brass " +
  "hook linen duvet cover wool throw ceramic mug steel bottle trail runner suede boot denim jean cotton polo hoodie";

/** A shop of products of three words, with six SKUs each. */
async function createShop(products: number): Promise<Tenant> {
  const tenant = await createTenant(service.database);
  await service.database.query(
    `with word as (select string_to_array($2, ' ') as list), product as (
       select n, list[1 + n % 39] || ' ' || list[1 + n / 39 % 39] || ' ' || list[1 + (n * 7 + 3) % 39] || ' ' || n as title,
              list[1 + n * 13 % 39] || ' house' as vendor
         from word, generate_series(1, $3::integer) n
     ), row (type_rank, key, sku, title, vendor, n) as (
       select 2, 'gid ' || n, null, title, vendor, n from product
       union all
       select 1, upper(left(title, 3)) || n || '-' || size, upper(left(title, 3)) || n || '-' || size, title, vendor, n
         from product, unnest(array['XS', 'S', 'M', 'L', 'XL', 'XXL']) size
     )
     insert into entity (shop_key, type_rank, label, entity_key, product_gid, sku, product_title, vendor, search_text)
     select $1, type_rank, coalesce(sku, title), key, 'gid ' || n, sku, title, vendor,
            lower(concat_ws(E'\\n', sku, title, vendor))
       from row`,
    [tenant.shopKey, WORDS, products],
  );
  return tenant;
}

/** Different texts of 200 characters: of the shop's words, of one repeated word, and of no word. */
function longTexts(): string[] {
  const words = WORDS.split(" ");
  const cut = (text: string): string => text.repeat(20).slice(0, 200).trim();
  return Array.from({ length: 10 }, (_, number) => {
    if (number % 3 === 1) return cut(`${words[number]} `);
    if (number % 3 === 2) return cut(`qzv${number} xkq jqw zxv vqx wzk jvq kxz `);
    return cut(`${[...words.slice(number * 4), ...words].join(" ")} `);
  });
}

const BUSY = [429, "Too many requests of this workspace are running at once: send fewer in parallel."];

describe("a large catalogue", () => {
  let large: Tenant;
  let other: Tenant;

  before(async () => {
    [large, other] = [await createShop(4000), await createShop(100)];
    await service.database.query("analyze entity");
  });

  test("is searched by the index, also with the generic plan that the service uses", { skip }, async () => {
    const database = openConnections(service.databaseUrl, { readOnly: true });
    try {
      const plans = await database.transaction(async (connection) => {
        const indexed = await planOf(connection, large, "jacket", true);
        return { indexed, short: await planOf(connection, large, "la", false) };
      });
      assert.match(plans.indexed, /Bitmap Index Scan on entity_by_search/u);
      assert.match(plans.indexed, /Index Cond: \(\(shop_key = \$1\) AND \(search_text ~~ \$6\)\)/u);
      assert.match(plans.indexed, /Index Cond: \(\(shop_key = \$1\) AND \(search_text %> \$4\)\)/u);
      const run = plans.short.split("\n").filter((line) => /Scan on entity|Scan using entity/u.test(line));
      assert.ok(
        run.every((line) => !line.includes("entity_by_search") || line.includes("never executed")),
        plans.short,
      );
    } finally {
      await database.close();
    }
  });

  test("finds the same as a comparison with every text", async () => {
    for (const q of ["jacket", "lamp 22", "house", "xxl", "glow lapm", "merno"]) {
      const found = await ask(large, q, { limit: 20 });
      const { rows } = await service.database.query<{ label: string }>(
        `select label from entity where shop_key = $1 and (strpos(search_text, $2) > 0 or word_similarity($2, search_text) >= 0.45)`,
        [large.shopKey, q],
      );
      const labels = new Set<unknown>(rows.map(({ label }) => label));
      assert.equal(labelsOf(found).length, Math.min(20, rows.length), q);
      assert.ok(
        labelsOf(found).every((label) => labels.has(label)),
        q,
      );
    }
  });

  test("ten searches of 200 characters at once do not block other requests", async (t) => {
    const elapsedMs = async (
      request: Promise<CalledAnswer>,
    ): Promise<{ answer: CalledAnswer; ms: number }> => {
      const startedMs = performance.now();
      return { answer: await request, ms: Math.round(performance.now() - startedMs) };
    };
    const searches = longTexts().map((q) => elapsedMs(ask(large, q)));
    const others = ENDPOINTS.map((endpoint) =>
      elapsedMs(service.call(endpoint.path, { token: other.token, params: leastParameters(endpoint) })),
    );
    const otherSearches = ["jacket", "lamp", "la", "glow lapm"].map((q) => elapsedMs(ask(other, q)));
    for (const { answer, ms } of await Promise.all([...others, ...otherSearches])) {
      assert.equal(answer.status, 200, answer.text);
      t.diagnostic(`another workspace's request: ${ms} ms`);
    }
    for (const { answer, ms } of await Promise.all(searches)) {
      if (answer.status === 400) assert.match(answer.message(), /^q takes too long .*\.$/u);
      else if (answer.status !== 200) assert.deepEqual([answer.status, answer.message()], BUSY);
      t.diagnostic(`search of 200 characters: ${answer.status} after ${ms} ms`);
    }
    assert.doesNotMatch(service.logs.join(""), /unexpected error/u);
  });

  test("a search that takes too long is refused, and so are those waiting behind it; other requests are answered", async () => {
    const blocker = await service.database.connect();
    try {
      await blocker.query("begin");
      await blocker.query("lock table entity in access exclusive mode");
      const searches = Array.from({ length: 8 }, (_, number) => ask(large, `blocked ${number}`));
      const summary = await service.call("/api/v1/summary", {
        token: other.token,
        params: { start_month: "2026-01", end_month: "2026-03" },
      });
      assert.equal(summary.status, 200);
      const messages = await Promise.all(
        searches.map(async (answer) => [(await answer).status, (await answer).message()]),
      );
      const slow = [400, "q takes too long to search for: make it shorter or more specific."];
      assert.deepEqual(messages.slice(0, 2), [slow, slow]);
      assert.deepEqual(messages.slice(-2), [BUSY, BUSY]);
      for (const message of messages)
        assert.ok(
          [slow, BUSY].some((known) => known[1] === message[1]),
          message.join(" "),
        );
    } finally {
      await blocker.query("rollback");
      blocker.release();
    }
    assert.equal((await ask(large, "blocked 0")).status, 200);
  });
});

/** The generic plan of a search with the rows of its execution. */
async function planOf(
  connection: Connection,
  tenant: Tenant,
  text: string,
  hasTrigram: boolean,
): Promise<string> {
  const name = `search_${text}`;
  const statement = STATEMENTS.get("search_entities")?.text ?? "";
  await connection.client.query(
    `prepare ${name}(bigint, smallint, text, text, int, text, boolean) as ${statement}`,
  );
  const { rows } = await connection.client.query<{ "QUERY PLAN": string }>(
    `explain (analyze, costs off) execute ${name} (${tenant.shopKey}, null, null, '${text}', 20, '%${text}%', ${hasTrigram})`,
  );
  return rows.map((row) => row["QUERY PLAN"]).join("\n");
}
