import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import type { Endpoint } from "../src/contract/endpoint.ts";
import { ENDPOINTS } from "../src/contract/registry.ts";
import { buildOpenApi } from "../src/http/openapi.ts";

type Answer = {
  headers?: Record<string, unknown>;
  content?: Record<
    string,
    { schema: object; example?: unknown; examples?: Record<string, { value: unknown }> }
  >;
};
type Parameter = { name: string; required: boolean; description?: string; schema: object; example?: unknown };
type Operation = {
  operationId: string;
  description: string;
  security: Record<string, string[]>[];
  parameters?: Parameter[];
  requestBody?: Answer;
  responses: Record<string, Answer & { $ref?: string }>;
};

const snapshotFile = join(import.meta.dirname, "openapi.snapshot.json");
const document = JSON.parse(JSON.stringify(buildOpenApi())) as ReturnType<typeof buildOpenApi>;
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    path,
    method,
    operation: operation as unknown as Operation,
  })),
);
const ajv = addFormats.default(new Ajv2020({ allErrors: true, strict: false }));
ajv.addSchema(document, "openapi");

test("the document is unchanged", () => {
  const text = `${JSON.stringify(document, null, 2)}\n`;
  if (process.env["UPDATE_SNAPSHOT"] === "1") writeFileSync(snapshotFile, text);
  assert.equal(
    text,
    readFileSync(snapshotFile, "utf8"),
    "UPDATE_SNAPSHOT=1 rewrites it; CHANGELOG.md needs a line",
  );
});

test("every endpoint of the contract is there once, with its scope, parameters and refusals", () => {
  assert.equal(operations.length, ENDPOINTS.length + 1);
  for (const endpoint of ENDPOINTS as readonly Endpoint[]) {
    const operation = operations.find(
      ({ path, method }) => path === endpoint.path && method === "get",
    )?.operation;
    assert.ok(operation, endpoint.path);
    assert.deepEqual(operation.security, [{ bearerAuth: [endpoint.scope] }]);
    const [answer] = Object.values(operation.responses["200"]?.content ?? {});
    assert.notEqual(answer?.example, undefined, "npm test -- openapi-examples writes it");
    for (const entitlement of endpoint.entitlements) assert.ok(operation.description.includes(entitlement));
    assert.deepEqual(
      operation.parameters?.map(({ name }) => name),
      Object.keys(endpoint.parameters.properties),
    );
    assert.deepEqual(Object.keys(operation.responses), ["200", "400", "401", "403", "409", "429", "500"]);
  }
});

test("every answer documents its headers; only 401 and 403 lack those of the quota", () => {
  for (const { path, operation } of operations.filter(
    ({ operation: { operationId } }) => operationId !== "postMcp",
  )) {
    for (const [status, answer] of Object.entries(operation.responses)) {
      const headers = Object.keys(resolve(answer).headers ?? {});
      for (const name of ["Cache-Control", "CDN-Cache-Control", "Edge-CDN-Cache-Control", "X-Request-ID"]) {
        assert.ok(headers.includes(name), `${path} ${status} ${name}`);
      }
      const quota = headers.filter((name) => name.startsWith("X-RateLimit-")).length;
      assert.equal(quota, status === "401" || status === "403" ? 0 : 3, `${path} ${status}`);
    }
  }
});

test("every example is valid under its schema", () => {
  let checked = 0;
  const check = (schema: object, example: unknown, where: string): void => {
    const validate = ajv.compile(absolute(schema));
    assert.ok(validate(example), `${where}: ${ajv.errorsText(validate.errors)}`);
    checked += 1;
  };
  for (const { path, operation } of operations) {
    for (const parameter of operation.parameters ?? []) {
      if (parameter.example !== undefined)
        check(parameter.schema, parameter.example, `${path} ${parameter.name}`);
    }
    const answers = Object.entries({ ...operation.responses, request: operation.requestBody ?? {} });
    for (const [status, answer] of answers) {
      for (const media of Object.values(resolve(answer).content ?? {})) {
        const examples = Object.values(media.examples ?? {}).map(({ value }) => value);
        for (const example of media.example === undefined ? examples : [media.example]) {
          check(media.schema, example, `${path} ${status}`);
        }
      }
    }
  }
  assert.ok(checked > 80, `${checked} examples`);
});

test("an example that breaks its schema would be found", () => {
  const validate = ajv.compile(absolute({ $ref: "#/components/schemas/SummaryResponse" }));
  assert.equal(validate({ data: { sold_units: 1, returned_units: 1, return_rate: 2 }, meta: {} }), false);
});

test("every parameter and every field of an answer is described, without internal terms", () => {
  const undescribed: string[] = [];
  const visit = (value: unknown, place: string): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [name, member] of Object.entries(value)) {
      assert.ok(!name.startsWith("x-"), `${place}.${name}`);
      if (name === "properties") {
        for (const [field, schema] of Object.entries(member as Record<string, { description?: string }>)) {
          if ((schema.description ?? "") === "") undescribed.push(`${place}.${field}`);
        }
      }
      if (name !== "example" && name !== "examples") visit(member, `${place}.${name}`);
    }
  };
  visit(document.components["schemas"], "");
  for (const { operation } of operations) {
    for (const parameter of operation.parameters ?? []) {
      if ((parameter.description ?? "") === "")
        undescribed.push(`${operation.operationId} ${parameter.name}`);
      visit(parameter.schema, parameter.name);
    }
  }
  assert.deepEqual(undescribed, []);
});

function resolve(answer: Answer & { $ref?: string }): Answer {
  const name = answer.$ref?.split("/").at(-1);
  return name === undefined ? answer : (document.components["responses"]?.[name] as Answer);
}

/** A schema whose references are resolved in the document. */
function absolute(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi#/')) as object;
}
