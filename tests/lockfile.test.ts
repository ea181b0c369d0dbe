import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

type Locked = { version?: string; integrity?: string; dev?: boolean; optional?: boolean; os?: string[] };

const { packages } = JSON.parse(readFileSync(join(import.meta.dirname, "../package-lock.json"), "utf8")) as {
  packages: Record<string, Locked>;
};
const { "": project, ...locked } = packages;

const SHA512 = /^sha512-[A-Za-z0-9+/]{86}==$/u;

/** A build of a tool for another platform, which the registry in use does not have, so there is no digest. */
const isForeignTool = ({ dev, optional, os = [] }: Locked): boolean =>
  dev === true && optional === true && os.length > 0;

test("every package that the service runs on has a digest to check its download", () => {
  const without = Object.entries(locked).filter(([, { integrity = "" }]) => !SHA512.test(integrity));
  assert.deepEqual(
    without.filter(([, found]) => !isForeignTool(found)).map(([path]) => path),
    [],
  );
  assert.ok(Object.keys(locked).length > without.length && project !== undefined);
});

test("a package without a digest is an optional build of a development tool, at an exact version", () => {
  for (const [path, { integrity, version = "", dev, optional }] of Object.entries(locked)) {
    if (integrity !== undefined) continue;
    assert.match(path, /^node_modules\/@(?:oxlint|oxfmt|oxlint-tsgolint|duckdb)\//u);
    assert.match(version, /^\d+\.\d+\.\d+/u);
    assert.deepEqual([dev, optional], [true, true], path);
  }
});
