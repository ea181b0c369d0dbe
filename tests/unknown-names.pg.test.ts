import assert from "node:assert/strict";
import { describe, test } from "node:test";
import Type from "typebox";
import type { Endpoint } from "../src/contract/endpoint.ts";
import {
  ALIASES,
  SHARED_PARAMETERS,
  cohortParameters,
  cursorParameter,
  vendorParameter,
} from "../src/contract/parameters.ts";
import { ENDPOINTS } from "../src/contract/registry.ts";
import { TOOLS } from "../src/contract/tools.ts";
import { expectRefused, expectUnknown } from "./support/mcp-refusals.ts";
import { post, toolCall, toolError, toolText } from "./support/mcp.ts";
import type { RpcAnswer } from "./support/mcp.ts";
import { leastParameters, parametersOf } from "./support/requests.ts";
import { service } from "./support/shared-service.ts";
import { seedSmallStore } from "./support/small-store.ts";
import { createTenant } from "./support/tenants.ts";

const tenant = await createTenant(service.database);
await seedSmallStore(service.database, tenant.shopKey);

const MONTHS = { start_month: "2025-03", end_month: "2026-02" };

/** The specification's shared parameters. */
const SHARED = Type.Object({ ...cohortParameters, ...vendorParameter, ...cursorParameter });

for (const endpoint of ENDPOINTS) {
  const { name, path } = endpoint;
  const least = leastParameters(endpoint);
  const query = new URLSearchParams(least).toString();

  describe(name, () => {
    test("400: an unknown parameter is refused as unknown, whatever its value, and the allowed ones are named", async () => {
      const allowed = parametersOf(endpoint)
        .map(([parameter]) => parameter)
        .filter((parameter) => !/^(?:store|shopify)_/u.test(parameter));
      for (const unknown of ["unknown=1", "unknown=", "unknown", "unknown=%zz", "unknown=1&unknown=2"]) {
        const params = `${query}&${unknown}`.replace(/^&/u, "");
        const answer = await service.call(path, { token: tenant.token, params });
        assert.equal(answer.status, 400, unknown);
        const sentence = `unknown is not a parameter of ${path}. ${path} takes ${allowed.join(", ")}.`;
        assert.equal(answer.message(), sentence);
      }
    });

    test("shared parameters that it does not use are ignored, however they are given", async () => {
      const plain = await service.call(path, { token: tenant.token, params: least });
      const shared = parametersOf({ ...endpoint, parameters: SHARED }).map(([parameter]) => parameter);
      const others = shared.filter((parameter) => !(parameter in endpoint.parameters.properties));
      for (const parameter of others) {
        for (const value of ["nonsense", "%zz", `1&${parameter}=2`]) {
          const params = `${query}&${parameter}=${value}`.replace(/^&/u, "");
          const answer = await service.call(path, { token: tenant.token, params });
          assert.equal(answer.text, plain.text, params);
        }
      }
    });
  });
}

describe("a misspelt or misplaced parameter", () => {
  const RANGE = "start_month=2025-03&end_month=2026-02";
  const refusal = async (path: string, params: string): Promise<string> => {
    const answer = await service.call(`/api/v1/${path}`, { token: tenant.token, params });
    assert.equal(answer.status, 400, `${path}?${params.slice(0, 200)}`);
    return answer.message();
  };

  test("is refused with the nearest one, instead of an answer for the whole store", async () => {
    const meant: Readonly<Record<string, string>> = {
      product_group: "product_group_key",
      start: "start_month",
      windwo: "window",
      product_id: "product_gid",
      includeIncomplete: "include_incomplete",
      SKU: "sku",
    };
    for (const [name, nearest] of Object.entries(meant)) {
      const sentence = `${name} is not a parameter of /api/v1/summary; did you mean ${nearest}? /api/v1/summary takes sku,`;
      assert.ok((await refusal("summary", `${RANGE}&${name}=Dresses`)).startsWith(sentence), name);
    }
  });

  test("of another endpoint is refused with the endpoints that take it", async () => {
    assert.match(
      await refusal("summary", `${RANGE}&period=month`),
      /^period is not a parameter of \/api\/v1\/summary; \/api\/v1\/leaderboards\/return-rate takes it\. /u,
    );
    assert.match(
      await refusal("entities", "min_cost=5&saleEvent=x"),
      /^min_cost is not a parameter of \/api\/v1\/entities; \/api\/v1\/leaderboards\/return-cost takes it\. saleEvent is not a parameter of \/api\/v1\/entities; \/api\/v1\/report, \/api\/v1\/export\/report\.csv take it\. /u,
    );
  });

  test("is reported with everything else that is wrong, a sentence each, in the order of the contract", async () => {
    const message = await refusal(
      "leaderboards/return-cost",
      "end_month=2026-13&start=2026-01&limit=0&window=7d&sku=A&product_gid=B&min_cost=%zz",
    );
    const sentences = [
      "start is not a parameter of /api/v1/leaderboards/return-cost; did you mean start_month?",
      "start_month is required: a month written YYYY-MM, such as 2026-01.",
      "end_month must be a month written YYYY-MM, such as 2026-01.",
      "window must be one of primary, 30d, 90d, lifetime.",
      "limit must be a whole number from 1 to 100.",
      "min_cost must be percent-encoded UTF-8.",
      "Give one selector only: sku, or product_gid, or product_group_type with product_group_key.",
    ];
    const places = sentences.map((sentence) => message.indexOf(sentence));
    assert.ok(
      places.every((place) => place >= 0),
      message,
    );
    assert.deepEqual(
      places,
      places.toSorted((one, other) => one - other),
    );
  });

  test("can have any name: what a message shows of it is short and plain", async () => {
    const names: Readonly<Record<string, string>> = {
      "sku[]": '"sku[]" is not a parameter of /api/v1/summary; did you mean sku?',
      "%00%0A%E2%80%AEx": '"???x" is not a parameter of /api/v1/summary.',
      "%FF": '"%FF" is not a parameter of /api/v1/summary.',
      "": '"" is not a parameter of /api/v1/summary.',
      __proto__: "__proto__ is not a parameter of /api/v1/summary.",
      ["a".repeat(10_000)]: `"${"a".repeat(40)}…" is not a parameter of /api/v1/summary.`,
    };
    for (const [name, sentence] of Object.entries(names)) {
      assert.ok((await refusal("summary", `${RANGE}&${name}=1`)).startsWith(sentence), name.slice(0, 50));
    }
  });

  test("the state of a report is known on report and export, and nowhere else", async () => {
    const state = "reportSection=costs&saleEvent=x&saleEventBaseline=prior_year&saleEventScope=event_scope";
    for (const path of ["report", "export/report.csv"]) {
      const params = `${RANGE}&${state}`;
      assert.equal(
        (await service.call(`/api/v1/${path}`, { token: tenant.token, params })).status,
        200,
        path,
      );
    }
    for (const path of ["summary", "timeseries"]) {
      for (const name of ["reportSection", "saleEvent", "saleEventBaseline", "saleEventScope"]) {
        assert.ok((await refusal(path, `${RANGE}&${state}`)).includes(`${name} is not a parameter`));
      }
    }
  });

  test("an unknown category is an empty list, and a selector that names nothing says where selectors are", async () => {
    const answer = await service.call("/api/v1/alerts", { token: tenant.token, params: "category=unknown" });
    assert.deepEqual(answer.json().data, []);
    assert.equal(
      await refusal("summary", `${RANGE}&sku=NEVER`),
      "sku names nothing in this workspace; take selectors from /api/v1/entities.",
    );
    assert.equal(
      await refusal("alerts", "cursor=abc"),
      "cursor must be a meta.next_cursor of this endpoint, passed back verbatim with the same filters.",
    );
  });
});

const call = (tool: string, values: unknown): Promise<RpcAnswer> =>
  post(service.address, toolCall(tool, values), { token: tenant.token });

for (const endpoint of ENDPOINTS as readonly Endpoint[]) {
  if (endpoint.tool === null) continue;
  const tool = endpoint.tool.name;
  const least = leastParameters(endpoint);

  describe(tool, () => {
    test(`${tool}: an argument that its schema does not list is refused by its name, whatever its value`, async () => {
      for (const name of ["surprise", "toString", "hasOwnProperty", "constructor"]) {
        for (const value of [1, [1], null, "", { deep: {} }]) {
          expectUnknown(await call(tool, { ...least, [name]: value }), tool, name);
        }
      }
      expectUnknown(await call(tool, { ...least, ["__proto__"]: { limit: 1 } }), tool, "__proto__");
      const strange = { "": '""', "a\u0000": '"a?"', "\ud800": '"\ufffd"', "\u202ex": '"?x"' };
      for (const [name, shown] of Object.entries(strange)) {
        expectUnknown(await call(tool, { ...least, [name]: 1 }), tool, shown);
      }
    });

    test(`${tool}: it takes no shared parameter that its schema does not list, but the aliases of product_gid`, async () => {
      const listed = TOOLS.find((described) => described.name === tool)?.inputSchema.properties ?? {};
      const takesSelector = "sku" in listed;
      for (const name of [...SHARED_PARAMETERS, "selector", "reportSection", "q", "since"]) {
        if (name in listed) continue;
        const answer = await call(tool, {
          ...least,
          [name]: name === "selector" ? { sku: "HAT-1" } : "HAT-1",
        });
        const isTaken = takesSelector && (ALIASES.has(name) || name === "selector");
        if (isTaken) assert.ok(!JSON.stringify(answer.message).includes("is not an argument"), name);
        else expectUnknown(answer, tool, name);
      }
    });
  });
}

describe("a refusal of arguments", () => {
  test("tells the nearest argument, and the tools that take the name", async () => {
    const refusal = async (tool: string, values: unknown): Promise<string> =>
      toolError(await call(tool, values)).message;
    assert.match(
      await refusal("get_summary", { start: "2026-01", end_month: "2026-03" }),
      /^start is not an argument of get_summary; did you mean start_month\? get_summary takes sku, .*\. start_month is required: /u,
    );
    assert.match(
      await refusal("get_timeseries", { ...MONTHS, product_group: "Tops" }),
      /^product_group is not an argument of get_timeseries; did you mean product_group_key\? /u,
    );
    assert.match(
      await refusal("get_summary", { ...MONTHS, period: "month", reportSection: "costs" }),
      /^period is not an argument of get_summary; get_return_rate_leaderboard takes it\. reportSection is not an argument of get_summary; get_report takes it\. /u,
    );
  });

  test("tells all that is wrong at once, in one order", async () => {
    const { message } = toolError(
      await call("get_report", { windw: "30d", selector: "HAT-1", window: "7d", end_month: 3 }),
    );
    assert.match(
      message,
      /^windw is not .*; did you mean window\? get_report takes selector, .*\. selector must be .*\. start_month is required: .*\. end_month must be .*\. window must be .*\.$/u,
    );
  });

  test("speaks of tools where REST speaks of endpoints", async () => {
    const message = async (tool: string, values: unknown): Promise<string> =>
      toolError(await call(tool, values)).message;
    assert.equal(
      await message("get_summary", { ...MONTHS, sku: "NEVER" }),
      "sku names nothing in this workspace; take selectors from list_entities.",
    );
    assert.equal(
      await message("list_alerts", { cursor: "abc" }),
      "cursor must be a meta.next_cursor of this tool, passed back verbatim with the same filters.",
    );
  });

  test("names the categories of alerts: a misspelt one is no empty list", async () => {
    const refused = await call("list_alerts", { category: "watchlist" });
    expectRefused(refused, "category");
    assert.equal(
      toolError(refused).message,
      "category must be one of return_rate_watchlist, backfill_completed, connection_stale, report_ready.",
    );
    assert.equal(toolText(await call("list_alerts", { category: "connection_stale" })).isError, false);
  });

  test("one answer that is made for both surfaces at once is refused in the words of each", async () => {
    const rest = service.call("/api/v1/summary", { token: tenant.token, params: { ...MONTHS, sku: "GONE" } });
    const tool = call("get_summary", { ...MONTHS, sku: "GONE" });
    assert.match((await rest).message(), /from \/api\/v1\/entities\.$/u);
    assert.match(toolError(await tool).message, /from list_entities\.$/u);
  });
});
