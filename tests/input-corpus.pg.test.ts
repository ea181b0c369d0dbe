import assert from "node:assert/strict";
import { createConnection } from "node:net";
import { text } from "node:stream/consumers";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Endpoint } from "../src/contract/endpoint.ts";
import { takesSelector } from "../src/contract/endpoint.ts";
import { ENDPOINTS } from "../src/contract/registry.ts";
import { fold } from "../src/lib/fold.ts";
import { brokenValues, leastParameters, parametersOf } from "./support/requests.ts";
import type { ParameterSchema } from "../src/contract/endpoint.ts";
import { CORPUS } from "./support/input-corpus.ts";
import { service } from "./support/shared-service.ts";
import type { CalledAnswer } from "./support/service.ts";
import { seedSmallStore } from "./support/small-store.ts";
import { createTenant } from "./support/tenants.ts";

const RUNS = 40;
const AT_ONCE = 16;
/** With the headers it stays below the server's limit, of which a test of its own tells. */
const LONGEST_QUERY = 30_000;

const tenant = await createTenant(service.database);
await seedSmallStore(service.database, tenant.shopKey);

/** Asks with a query as it is; the answer keeps the contract and is no failure of the service. */
async function ask(path: string, params: string): Promise<CalledAnswer> {
  const answer = await service.call(path, { token: tenant.token, params });
  assert.ok([200, 400].includes(answer.status), `${answer.status} for ${path}?${params.slice(0, 300)}`);
  assert.equal(answer.headers.get("x-injected"), null);
  return answer;
}

async function askEach(path: string, queries: readonly string[]): Promise<void> {
  for (let start = 0; start < queries.length; start += AT_ONCE) {
    await Promise.all(queries.slice(start, start + AT_ONCE).map((query) => ask(path, query)));
  }
}

const pairsText = (params: Record<string, string>): string =>
  Object.entries(params)
    .map(([name, value]) => `${name}=${value}`)
    .join("&");

const plainText = (maximum: number) =>
  fc
    .string({ unit: "grapheme", minLength: 1, maxLength: 60 })
    .filter((value) => fold(value).length <= maximum && value.length <= maximum && !/\p{Cc}/u.test(value))
    .map(encodeURIComponent);

/** Values that a parameter must take, told from its schema alone. */
function goodValue(schema: ParameterSchema): fc.Arbitrary<string> {
  const { minimum = 0, maximum = 1_000_000 } = schema;
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.type === "boolean") return fc.constantFrom("true", "false", "1", "0");
  if (schema.type === "integer") return fc.integer({ min: minimum, max: maximum }).map(String);
  if (schema.type === "number") {
    return fc.integer({ min: minimum * 1000, max: maximum * 1000 }).map((value) => (value / 1000).toFixed(3));
  }
  if (schema.format === "date-time") {
    return fc
      .date({
        min: new Date("0001-01-01T00:00:00Z"),
        max: new Date("9999-12-31T23:59:59Z"),
        noInvalidDate: true,
      })
      .map((date) => date.toISOString());
  }
  return plainText(schema.maxLength ?? 60);
}

const months = fc
  .tuple(fc.integer({ min: 12, max: 9989 * 12 + 11 }), fc.integer({ min: 0, max: 119 }))
  .map(([start, more]) => ({ start_month: monthText(start), end_month: monthText(start + more) }));

function monthText(month: number): string {
  return `${String(Math.floor(month / 12)).padStart(4, "0")}-${String((month % 12) + 1).padStart(2, "0")}`;
}

const knownSelector: fc.Arbitrary<Record<string, string>> = fc.constantFrom<Record<string, string>[]>(
  {},
  { sku: "JACKET-M" },
  { product_gid: encodeURIComponent("gid://shopify/Product/1") },
  { product_group_type: "family", product_group_key: "Tops" },
  { product_group_type: "analytics_category", product_group_key: "Hats" },
);

const knownVendor = fc.constantFrom("Nordwind", encodeURIComponent("Südstern"));

/** Whether `vendor` selects, and so must be one that the workspace has; elsewhere it filters and may find nothing. */
function selectsBy(endpoint: Endpoint, name: string): boolean {
  return name === "vendor" && !("limit" in endpoint.parameters.properties);
}

/** A request of the endpoint that nothing is wrong with. */
function goodRequest(endpoint: Endpoint): fc.Arbitrary<string> {
  const chosenElsewhere = /^(?:cursor|sku|.*product_g.*|start_month|end_month)$/u;
  const others = parametersOf(endpoint)
    .filter(([name]) => !chosenElsewhere.test(name))
    .map(([name, schema]) => [name, selectsBy(endpoint, name) ? knownVendor : goodValue(schema)] as const);
  return fc
    .tuple(
      fc.record(Object.fromEntries(others), { requiredKeys: [] }),
      "start_month" in leastParameters(endpoint) ? months : fc.constant({}),
      takesSelector(endpoint) ? knownSelector : fc.constant({}),
    )
    .map(([params, range, selector]) => pairsText({ ...params, ...range, ...selector }));
}

/** What no endpoint takes; && is nothing at all. */
const NOISE = ["unknown=1", "__proto__=1", "sku[]=1", "sku[a]=b", "&&", "=", "==", "%00=1", "a%zz=1"];

/** Any mixture of good, broken and notorious values, of repeated, unknown and missing parameters. */
function anyRequest(endpoint: Endpoint): fc.Arbitrary<string> {
  const pair = fc
    .constantFrom(...parametersOf(endpoint))
    .chain(([name, schema]) =>
      fc
        .oneof(
          { weight: 3, arbitrary: schema.pattern === undefined ? goodValue(schema) : fc.constant("2026-01") },
          { weight: 1, arbitrary: fc.constantFrom(...brokenValues(schema)) },
          { weight: 1, arbitrary: fc.constantFrom(...CORPUS) },
        )
        .map((value) => `${name}=${value}`),
    );
  const noise = fc.constantFrom(...NOISE);
  return fc
    .array(fc.oneof({ weight: 4, arbitrary: pair }, { weight: 1, arbitrary: noise }), { maxLength: 8 })
    .map((pairs) => pairs.join("&"))
    .filter((query) => query.length < LONGEST_QUERY);
}

for (const endpoint of ENDPOINTS) {
  const { name, path } = endpoint;
  const least = leastParameters(endpoint);

  describe(name, () => {
    test("answers every request that its schema allows", async () => {
      await fc.assert(
        fc.asyncProperty(goodRequest(endpoint), async (query) => {
          const answer = await ask(path, query);
          assert.equal(answer.status, 200, `${query}: ${answer.text}`);
        }),
        { numRuns: RUNS },
      );
    });

    test("answers or refuses whatever else it is sent", async () => {
      await fc.assert(
        fc.asyncProperty(anyRequest(endpoint), async (query) => {
          const answer = await ask(path, query);
          const isForeign = NOISE.some((pair) => pair !== "&&" && query.split("&").includes(pair));
          if (isForeign) assert.match(answer.message(), /is not a parameter of/u);
        }),
        { numRuns: RUNS },
      );
    });

    test("takes no harm from any value of the corpus in any parameter", async () => {
      const queries = parametersOf(endpoint).flatMap(([parameter]) =>
        CORPUS.map((value) => pairsText({ ...least, [parameter]: value })),
      );
      await askEach(path, queries);
    });

    test("takes no harm from 10,000 parameters and from 16 KB of them", async () => {
      const names = Array.from({ length: 5000 }, (_, index) => `a${index}`);
      for (const query of [
        "a&".repeat(10_000),
        names.join("&"),
        `a=${"b".repeat(16_000)}`,
        "a".repeat(16_000),
      ]) {
        const refused = await ask(path, `${pairsText(least)}&${query}`);
        assert.equal(refused.status, 400);
        assert.match(refused.message(), /is not a parameter of/u);
        assert.ok(refused.message().length < 1500, `${refused.message().length} characters`);
      }
      const [[known] = ["q"]] = parametersOf(endpoint);
      const repeated = Array.from({ length: 2000 }, () => `${known}=1`).join("&");
      assert.equal((await ask(path, repeated)).status, 400);
    });
  });

  if ("start_month" in least) {
    test(`${name}: the first and the last year of the calendar are answered in every window`, async () => {
      for (const year of ["0001", "9999"]) {
        for (const window of ["primary", "30d", "90d", "lifetime"]) {
          const params = {
            start_month: `${year}-01`,
            end_month: `${year}-12`,
            window,
            include_incomplete: "true",
          };
          const saleEvents = [
            "&saleEvent=summer&saleEventBaseline=prior_year",
            "&saleEvent=hats&saleEventBaseline=selected_non_sale",
          ];
          const states = [
            "",
            ...("saleEvent" in endpoint.parameters.properties ? saleEvents : []),
            ...("reportSection" in endpoint.parameters.properties ? ["&reportSection=bridge"] : []),
          ];
          for (const state of states) {
            assert.equal((await ask(path, pairsText(params) + state)).status, 200);
          }
        }
      }
    });
  }
}

test("headers beyond the limit are refused in the contract's form", async () => {
  const { hostname, port } = new URL(service.address);
  const socket = createConnection({ host: hostname, port: Number(port) });
  socket.write(`GET /api/v1/alerts HTTP/1.1\r\nHost: ${hostname}\r\nX-Much: ${"a".repeat(33_000)}\r\n\r\n`);
  const [head = "", body = ""] = (await text(socket)).split("\r\n\r\n");
  assert.match(head, /^HTTP\/1\.1 431 /u);
  assert.match(head, /^X-Returns-API-Version: 2026-07-05$/mu);
  assert.match(body, /^\{"error":\{"code":"invalid_request","message":"[^"]+"\}\}$/u);
});

test("headers within the limit, whatever they hold, change nothing", async () => {
  const long = "a".repeat(8000);
  const headers = {
    "x-much": long,
    cookie: long,
    accept: "application/xml",
    "if-none-match": "*",
    origin: "null",
  };
  const answer = await service.call("/api/v1/alerts", { token: tenant.token, headers });
  assert.equal(answer.status, 200);
});

test("JSON nested deep in a parameter is text, and long", async () => {
  const nested = encodeURIComponent("[".repeat(2000));
  assert.equal((await ask("/api/v1/entities", `q=${nested}`)).status, 400);
  assert.match(
    (await ask("/api/v1/entities", `unknown=${nested}`)).message(),
    /^unknown is not a parameter/u,
  );
});
