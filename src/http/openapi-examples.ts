import type { JsonObject } from "./openapi-schemas.ts";
import examples from "./openapi-examples.json" with { type: "json" };

/** A request to an endpoint and what the demo store answered, lists shortened. */
export type EndpointExample = { query: string; answer: unknown };

/** Real answers of the demo store as scripts/openapi.ts wrote them down. */
export type Examples = {
  endpoints: Readonly<Record<string, EndpointExample>>;
  /** Error bodies by HTTP status. */
  errors: Readonly<Record<string, unknown>>;
  /** The answer of the MCP tool that the document shows. */
  mcp: { request: JsonObject; answer: JsonObject };
};

export const EXAMPLES: Examples = examples;

/** The example of an endpoint; every endpoint has one. */
export function exampleOf(name: string): EndpointExample {
  const example = EXAMPLES.endpoints[name];
  if (example === undefined) throw new Error(`src/http/openapi-examples.json has no example of ${name}.`);
  return example;
}
