import assert from "node:assert/strict";
import { TOOLS } from "../../src/contract/tools.ts";
import { toolError, type McpAnswer } from "./mcp.ts";

/** Expects a refusal that names a known argument. */
export function expectRefused(answer: McpAnswer, parameter: string): void {
  const { code, message } = toolError(answer);
  assert.equal(code, "invalid_request");
  assert.match(message, new RegExp(`\\b${parameter}\\b`, "u"));
  assert.match(message, /\.$/u);
  assert.doesNotMatch(message, /is not an argument/u);
}

/** Expects a refusal for `name`, which is no argument, and nothing else. */
export function expectUnknown(answer: McpAnswer, tool: string, name: string): void {
  const { code, message } = toolError(answer);
  assert.equal(code, "invalid_request");
  assert.ok(message.startsWith(`${name} is not an argument of ${tool}`), message);
  const listed = TOOLS.find((described) => described.name === tool)?.inputSchema.properties ?? {};
  assert.ok(message.endsWith(`${tool} takes ${Object.keys(listed).join(", ")}.`), message);
}
