import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Endpoint } from "../../src/contract/endpoint.ts";
import { ENDPOINTS } from "../../src/contract/registry.ts";
import { INSTRUCTIONS, TOOLS } from "../../src/contract/tools.ts";

/** The spec's seven tools, in this order; clients rely on them. */
const NAMES = [
  "list_entities",
  "get_summary",
  "get_report",
  "get_timeseries",
  "get_return_rate_leaderboard",
  "get_return_cost_leaderboard",
  "list_alerts",
];

/** Those of the spec's that take a selector as one object. */
const WITH_SELECTOR_OBJECT = new Set<string>(["get_report", "get_timeseries"]);

const ALIASES = new Set(["store_product_gid", "shopify_product_gid"]);

test("the first tools are the spec's seven, in the order of its table; the snapshot lists all", () => {
  assert.deepEqual(
    TOOLS.slice(0, NAMES.length).map((tool) => tool.name),
    NAMES,
  );
});

test("the list of tools is as released", (t) => {
  t.assert.fileSnapshot(TOOLS, `${import.meta.dirname}/tools-list.json`);
});

test("the instructions are at most 1 kB and name every tool", () => {
  assert.ok(Buffer.byteLength(INSTRUCTIONS) <= 1024);
  for (const { name } of TOOLS) assert.ok(INSTRUCTIONS.includes(name), name);
  for (const word of ["cohort", "UTC", "window", "quota"]) assert.ok(INSTRUCTIONS.includes(word), word);
});

for (const tool of TOOLS) {
  const endpoint = (ENDPOINTS as readonly Endpoint[]).find(
    (candidate) => candidate.tool?.name === tool.name,
  ) as Endpoint;
  const { inputSchema } = tool;
  const properties = Object.entries(inputSchema.properties);
  const takesSelector = "sku" in inputSchema.properties;
  const takesMonths = "start_month" in inputSchema.properties;

  describe(tool.name, () => {
    test("it has its title in both places, all four annotations, and no other members", () => {
      assert.deepEqual(Object.keys(tool), ["name", "title", "description", "inputSchema", "annotations"]);
      assert.match(tool.title, /^[A-Z]/u);
      assert.deepEqual(tool.annotations, {
        title: tool.title,
        readOnlyHint: true,
        destructiveHint: false,
        idempotentHint: true,
        openWorldHint: false,
      });
    });

    test("its description has 3 to 6 lines: what, when, defaults and an example that its schema allows", () => {
      const lines = tool.description.split("\n");
      assert.ok(lines.length >= 3 && lines.length <= 6);
      for (const line of lines) assert.ok(line.length > 20 && line.length <= 200, line);
      assert.match(lines[0] ?? "", /^Returns /u);
      assert.match(tool.description, /^Use it /mu);
      assert.ok(TOOLS.some(({ name }) => name !== tool.name && tool.description.includes(name)));
      assert.match(tool.description, /default/iu);
      const example = JSON.parse(lines.at(-1)?.replace(/^Example: /u, "") ?? "") as object;
      for (const name of Object.keys(example)) assert.ok(name in inputSchema.properties, name);
      for (const name of inputSchema.required) assert.ok(name in example, name);
    });

    test("it says where a selector comes from, and what its months are", () => {
      if (takesSelector) assert.match(tool.description, /selector.*take it from list_entities/isu);
      if (takesMonths) assert.match(tool.description, /order cohorts in UTC/u);
    });

    test("its schema is one flat object that all clients read alike", () => {
      assert.deepEqual(Object.keys(inputSchema), ["type", "properties", "required", "additionalProperties"]);
      assert.equal(inputSchema.type, "object");
      assert.equal(inputSchema.additionalProperties, false);
      const allowed = ["type", "description", "enum", "format", "pattern", "minimum", "maximum", "default"];
      for (const [name, schema] of properties) {
        const isSelectorObject = name === "selector";
        const keywords = isSelectorObject ? [...allowed, "properties", "additionalProperties"] : allowed;
        for (const keyword of Object.keys(schema))
          assert.ok(keywords.includes(keyword), `${name}.${keyword}`);
        const types = isSelectorObject ? ["object"] : ["string", "integer", "number", "boolean"];
        assert.ok(types.includes(String(schema["type"])), `${name} has one type`);
        assert.match(String(schema["description"]), /^[A-Za-z].*\.$/su, `${name} is described`);
        if ("format" in schema) assert.equal(schema["format"], "date-time");
        if ("pattern" in schema) assert.doesNotMatch(String(schema["pattern"]), /\(\?/u, "RE2 reads it");
      }
    });

    test("bounds and defaults are stated in words too", () => {
      for (const [name, { description, ...schema }] of properties) {
        for (const keyword of ["minimum", "maximum", "default"]) {
          if (keyword in schema) assert.ok(String(description).includes(String(schema[keyword])), name);
        }
      }
    });

    test("its arguments are the endpoint's parameters, and the selector object where the spec has it", () => {
      const expected = Object.keys(endpoint.parameters.properties).filter((name) => !ALIASES.has(name));
      const given = properties.map(([name]) => name).filter((name) => name !== "selector");
      assert.deepEqual(given, expected);
      assert.equal("selector" in inputSchema.properties, endpoint.tool?.listsSelectorObject === true);
      if (NAMES.includes(tool.name))
        assert.equal("selector" in inputSchema.properties, WITH_SELECTOR_OBJECT.has(tool.name));
      assert.deepEqual(inputSchema.required, takesMonths ? ["start_month", "end_month"] : []);
    });
  });
}
