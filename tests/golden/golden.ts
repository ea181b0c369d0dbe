import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import assert from "node:assert/strict";
import type { OracleParameters, OracleStore, StoreSettings } from "../oracle/store.ts";

/** A small store with answers computed by hand: the type of the JSON files in this folder. */
export type GoldenStore = {
  name: string;
  about: string;
  /** Numbers of METRICS.md. */
  rules: string[];
  /** The arithmetic behind the answers. */
  explain: string[];
  workspace: StoreSettings;
  as_of: string;
  files: OracleStore["files"];
  requests: GoldenRequest[];
};

export type GoldenRequest = {
  path: string;
  params: OracleParameters;
  explain?: string;
  /** Whether the plan may see the whole ranking, where that differs from the workspace's. */
  full_leaderboards?: boolean;
  /** Default 200. */
  status?: number;
  /** Members that must be in the answer; lists must have these entries and no others. */
  expect?: Expected;
};

type Expected = { [member: string]: unknown };

/** Every golden store, by name. */
export function readGoldenStores(): GoldenStore[] {
  return readdirSync(import.meta.dirname)
    .filter((file) => file.endsWith(".json"))
    .toSorted()
    .map((file) => ({
      name: file.replace(".json", ""),
      ...(JSON.parse(readFileSync(join(import.meta.dirname, file), "utf8")) as Omit<GoldenStore, "name">),
    }));
}

/** `summary?start_month=2026-01&…`, for a message. */
export function titleOf({ path, params }: GoldenRequest): string {
  const pairs = Object.entries(params).map(([name, value]) => `${name}=${String(value)}`);
  return `${path.replace("/api/v1/", "")}?${pairs.join("&")}`;
}

/** Fails unless `actual` has every member of `expected`, recursively, and lists of the same length. */
export function assertHolds(actual: unknown, expected: unknown, place: string): void {
  if (Array.isArray(expected)) {
    assert.ok(Array.isArray(actual), `${place} is no list`);
    assert.equal(actual.length, expected.length, `${place} has ${JSON.stringify(actual)}`);
    for (const [index, entry] of expected.entries()) assertHolds(actual[index], entry, `${place}[${index}]`);
  } else if (typeof expected === "object" && expected !== null) {
    assert.ok(typeof actual === "object" && actual !== null, `${place} is ${JSON.stringify(actual)}`);
    for (const [name, value] of Object.entries(expected)) {
      assertHolds((actual as Expected)[name], value, `${place}.${name}`);
    }
  } else {
    assert.equal(actual, expected, place);
  }
}
