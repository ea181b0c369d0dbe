import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { Endpoint } from "../src/contract/endpoint.ts";
import { ENDPOINTS } from "../src/contract/registry.ts";
import { expectRefused, expectUnknown } from "./support/mcp-refusals.ts";
import { post, toolCall, toolError, toolText, type McpAnswer } from "./support/mcp.ts";
import { leastParameters, parametersOf } from "./support/requests.ts";
import { service } from "./support/shared-service.ts";
import { createSmallStore } from "./support/small-store.ts";

const tenant = await createSmallStore(service.database);

/** How many lines the tests of other files logged. */
let logged: number;
before(() => {
  logged = service.logs.length;
});

const call = (tool: string, values: unknown): Promise<McpAnswer> =>
  post(service.address, toolCall(tool, values), { token: tenant.token });

/** Sends arguments as JSON text, for values that JSON.stringify would not write. */
const callWithText = (tool: string, values: string): Promise<McpAnswer> =>
  post(
    service.address,
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${tool}","arguments":${values}}}`,
    { token: tenant.token },
  );

/** Arguments as JSON text, with one more member given as text. */
function withMember(values: Record<string, string>, member: string): string {
  const rest = JSON.stringify(values).slice(1, -1);
  return `{${rest}${rest === "" ? "" : ","}${member}}`;
}

const MONTHS = { start_month: "2025-03", end_month: "2026-02" };
const TOOL_ENDPOINTS = (ENDPOINTS as readonly Endpoint[]).filter((endpoint) => endpoint.tool !== null);

type Rows = { data: Record<string, unknown>[] | { rows: Record<string, unknown>[] } };

/** The members that the specification requires in a row; all others are optional. */
const REQUIRED: Readonly<Record<string, string>> = {
  "return-rate-leaderboard": "sku sold_units returned_units return_rate",
  "return-cost-leaderboard":
    "sku total_cost_amount total_refunded_amount total_return_label_cost sold_units returned_units return_rate",
  alerts: "id category severity title created_at",
  entities:
    "type label subtitle product_gid sku product_title vendor product_group_type product_group_key selector",
};

/** Rows without members beyond the specification, which closes them. */
const CLOSED = "entities";

describe("fields", () => {
  const takers = TOOL_ENDPOINTS.filter(({ parameters }) => "fields" in parameters.properties);
  const rowsOf = ({ data }: Rows) => ("rows" in data ? data.rows : data);

  test("lists of rows take it", () =>
    assert.deepEqual(takers.map(({ name }) => name).toSorted(), Object.keys(REQUIRED).toSorted()));

  for (const endpoint of takers) {
    const tool = String(endpoint.tool?.name);
    const least = leastParameters(endpoint);
    const ask = async (fields: Record<string, string>) => {
      const params = { ...least, ...fields };
      const answer = await service.call(endpoint.path, { token: tenant.token, params });
      assert.equal(toolText(await call(tool, params)).text, answer.text);
      return { text: answer.text, rows: rowsOf(answer.json()) };
    };

    test(`${tool}: fields=required leaves the required members of a row`, async () => {
      const everything = await ask({ fields: "all" });
      const short = await ask({ fields: "required" });
      const plain = await ask({});
      assert.equal(plain.text, endpoint.name === CLOSED ? short.text : everything.text);
      assert.ok(everything.text.length > short.text.length);
      assert.ok(short.rows.length > 0);
      const names = REQUIRED[endpoint.name]?.split(" ") ?? [];
      assert.deepEqual(
        short.rows,
        everything.rows.map((row) => Object.fromEntries(names.map((name) => [name, row[name]]))),
      );
    });

    test(`${tool}: other values of fields are refused, naming the two allowed ones`, async () => {
      const others = ["sku", "Required", "required,all", "__proto__", "*", "required ", "x".repeat(9999)];
      for (const fields of others) {
        const refused = await call(tool, { ...least, fields });
        assert.equal(toolError(refused).message, "fields must be one of all, required.");
      }
    });
  }
});

describe("values", () => {
  for (const endpoint of TOOL_ENDPOINTS) {
    const tool = String(endpoint.tool?.name);
    const least = leastParameters(endpoint);

    test(`${tool}: an array or an object is refused by the argument's name`, async () => {
      for (const [name, schema] of parametersOf(endpoint)) {
        if (schema["x-normalized"] === true && schema.enum === undefined) continue;
        for (const value of [[], ["2026-01"], {}, { $gt: "" }, [[["deep"]]]]) {
          expectRefused(await call(tool, { ...least, [name]: value }), name);
        }
      }
    });

    test(`${tool}: null and "" count as not given`, async () => {
      const plain = await call(tool, least);
      for (const [name] of parametersOf(endpoint)) {
        if (name in least) continue;
        for (const value of [null, ""]) {
          assert.equal((await call(tool, { ...least, [name]: value })).text, plain.text, name);
        }
      }
    });

    test(`${tool}: numbers are read by the rules of JSON`, async () => {
      for (const [name, schema] of parametersOf(endpoint)) {
        if (schema.type !== "integer" && schema.type !== "number") continue;
        const withText = (text: string): Promise<McpAnswer> =>
          callWithText(tool, withMember(least, `"${name}":${text}`));
        const one = await withText("1");
        assert.equal(toolText(one).isError, false);
        for (const same of ["1.0", "1e0", "10E-1", '"1"'])
          assert.equal((await withText(same)).text, one.text);
        for (const broken of ["-1", "true", '"1e0"', '"0x1"', '" 1"', '"١"']) {
          expectRefused(await withText(broken), name);
        }
        if (schema.type === "integer") {
          for (const broken of ["1.5", "1e308", "1e400", "9007199254740993"]) {
            expectRefused(await withText(broken), name);
          }
        }
        if (schema.minimum === 0) {
          assert.equal((await withText("-0")).text, (await withText("0")).text);
        }
      }
    });
  }

  test("a minimum cost above every amount of the store gives an empty list, an infinite one is refused", async () => {
    const listed = (minCost: string): Promise<McpAnswer> =>
      callWithText("get_return_cost_leaderboard", withMember(MONTHS, `"min_cost":${minCost}`));
    for (const minCost of ["1e30", "1e308", "9007199254740993"]) {
      const { text } = toolText(await listed(minCost));
      assert.deepEqual((JSON.parse(text) as { data: { rows: unknown[] } }).data.rows, [], minCost);
    }
    expectRefused(await listed("1e400"), "min_cost");
  });

  test("control characters and lone surrogates in text are refused by name", async () => {
    for (const text of ["\u0000", "a\u0000b", "line\nbreak", "\u007f", "\ud800", "a\udc00"]) {
      expectRefused(await call("list_entities", { q: text }), "q");
      expectRefused(await call("get_summary", { ...MONTHS, sku: text }), "sku");
      expectRefused(await call("list_alerts", { cursor: text }), "cursor");
    }
    for (const text of ["\u202e‮rtl", "😀", "’; drop table entity; --", "%_\\", "<script>", "كرسي"]) {
      assert.equal(toolText(await call("list_entities", { q: text })).isError, false, text);
    }
  });
});

describe("the selector object", () => {
  test("is applied by every tool that takes selectors, listed or not, and never means the whole store", async () => {
    const flat = await call("get_summary", { ...MONTHS, sku: "HAT-1" });
    assert.equal((await call("get_summary", { ...MONTHS, selector: { sku: "HAT-1" } })).text, flat.text);
    const other = await call("get_return_cost_leaderboard", { ...MONTHS, selector: { sku: "NEVER" } });
    expectRefused(other, "sku");
  });

  for (const tool of ["get_report", "get_timeseries"]) {
    test(`${tool} takes each row's selector of list_entities and of breakdowns, and answers as for flat arguments`, async () => {
      const { text } = toolText(await call("list_entities", { limit: 100 }));
      const rows = (JSON.parse(text) as { data: { selector: Record<string, string> }[] }).data;
      assert.equal(rows.length, 14);
      const divided = [];
      for (const breakdownBy of ["vendor", "product"]) {
        const report = await call("get_report", { ...MONTHS, reportSection: "breakdown", breakdownBy });
        const { data } = JSON.parse(toolText(report).text) as { data: { breakdown: { rows: typeof rows } } };
        divided.push(...data.breakdown.rows.slice(0, -1));
      }
      assert.ok(divided.length > 3);
      for (const { selector } of [...rows, ...divided]) {
        const flat = await call(tool, { ...MONTHS, ...selector });
        assert.equal(toolText(flat).isError, false);
        assert.equal((await call(tool, { ...MONTHS, selector })).text, flat.text);
        // Some clients send the object as JSON text.
        assert.equal((await call(tool, { ...MONTHS, selector: JSON.stringify(selector) })).text, flat.text);
        // Both say the same: no contradiction.
        assert.equal((await call(tool, { ...MONTHS, ...selector, selector })).text, flat.text);
      }
    });

    test(`${tool} refuses a selector that contradicts the flat arguments or itself`, async () => {
      const both = [
        { selector: { sku: "HAT-1" }, sku: "JACKET-M" },
        { selector: { sku: "HAT-1" }, product_gid: "gid://shopify/Product/1" },
        {
          selector: { product_gid: "gid://shopify/Product/1" },
          store_product_gid: "gid://shopify/Product/2",
        },
        { selector: { product_group_type: "family", product_group_key: "Tops" }, product_group_key: "Hats" },
        { selector: { sku: "HAT-1", product_gid: "gid://shopify/Product/3" } },
      ];
      for (const values of both) {
        const { code, message } = toolError(await call(tool, { ...MONTHS, ...values }));
        assert.equal(code, "invalid_request");
        assert.match(message, /contradict|one selector only|different products/u);
      }
    });

    test(`${tool} refuses an invalid selector, and never answers for the whole store instead`, async () => {
      const echo = { type: "sku", primarySku: "HAT-1", skus: ["HAT-1"] };
      const shapes = [
        "HAT-1",
        5,
        true,
        [],
        ["HAT-1"],
        {},
        echo,
        { SKU: "HAT-1" },
        { include_used_variants: true },
        { sku: "HAT-1", brand: "Nordwind" },
        '{"SKU":"HAT-1"}',
        '["HAT-1"]',
        '"HAT-1"',
        "null",
        "{}",
        '{"sku":"HAT-1"',
        `{"sku":"HAT-1"${" ".repeat(5000)}}`,
        { sku: "" },
        { sku: null },
      ];
      for (const selector of [...shapes, { product_group_type: "family" }, { product_group_key: "Tops" }]) {
        expectRefused(await call(tool, { ...MONTHS, selector }), "selector");
      }
      expectRefused(await call(tool, { ...MONTHS, selector: { sku: ["HAT-1"] } }), "sku");
      expectRefused(await call(tool, { ...MONTHS, selector: { sku: "NEVER" } }), "sku");
      const group = { product_group_type: "brand", product_group_key: "Tops" };
      expectRefused(await call(tool, { ...MONTHS, selector: group }), "product_group_type");
    });

    test(`${tool} takes null and "" as no selector`, async () => {
      const plain = await call(tool, MONTHS);
      for (const selector of [null, ""]) {
        assert.equal((await call(tool, { ...MONTHS, selector })).text, plain.text);
      }
    });
  }
});

describe("hostile bodies", () => {
  test("members with names from Object.prototype are plain members, and no arguments", async () => {
    for (const [values, name] of [
      ['{"__proto__":{"limit":1}}', "__proto__"],
      ['{"constructor":{"prototype":{"limit":1}},"toString":"x"}', "constructor"],
      ['{"__proto__":null}', "__proto__"],
    ] as const) {
      expectUnknown(await callWithText("list_entities", values), "list_entities", name);
    }
    const polluted = await post(
      service.address,
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"__proto__":{"name":"list_entities"}}}',
      { token: tenant.token },
    );
    assert.equal(polluted.message.error?.code, -32602);
    assert.equal(({} as Record<string, unknown>)["limit"], undefined);
  });

  test("arrays nested 30,000 deep and objects nested 5,000 deep are refused by name", async () => {
    for (const depth of [1000, 30_000]) {
      const nested = "[".repeat(depth) + "]".repeat(depth);
      expectRefused(await callWithText("list_entities", `{"q":${nested}}`), "q");
      const objects = '{"a":'.repeat(depth / 6) + "1" + "}".repeat(depth / 6);
      const unknown = await callWithText("list_entities", `{"unknown":${objects}}`);
      expectUnknown(unknown, "list_entities", "unknown");
    }
  });

  test("a thousand unknown arguments, and a text as long as a body may be, are refused with a short message", async () => {
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`argument ${index}`, index]));
    const { message } = toolError(await call("list_entities", { ...many, limit: 0 }));
    assert.match(message, /^"argument 0" is not an argument of list_entities\. "argument 1" is not/u);
    assert.match(
      message,
      /Nor are 995 more\. list_entities takes q, type, limit, cursor, vendor, fields\. limit must be/u,
    );
    assert.ok(message.length < 600, `${message.length} characters`);
    expectRefused(await call("list_entities", { q: "x".repeat(65_000) }), "q");
    expectRefused(await call("list_alerts", { cursor: "x".repeat(65_000) }), "cursor");
    const list = Array.from({ length: 5000 }, () => "2026-01");
    expectRefused(await call("get_summary", { ...MONTHS, start_month: list }), "start_month");
  });

  test("of a repeated member the last one counts, as JSON.parse reads it", async () => {
    const { text } = toolText(await callWithText("list_entities", '{"limit":0,"limit":2}'));
    assert.equal((JSON.parse(text) as { data: unknown[] }).data.length, 2);
  });

  test("no unexpected failure and no token was logged", () => {
    const text = service.logs.slice(logged).join("");
    assert.doesNotMatch(text, /unexpected error|rta_live_/u);
  });
});
