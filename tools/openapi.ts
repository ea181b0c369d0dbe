/**
 * Holds the OpenAPI document to the strictest rules: npm run openapi
 * `--write` also writes tests/openapi.snapshot.json, for which a line in CHANGELOG.md is due.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildOpenApi } from "../src/http/openapi.ts";

const root = join(import.meta.dirname, "..");
const text = `${JSON.stringify(buildOpenApi(), null, 2)}\n`;

if (process.argv.includes("--write")) writeFileSync(join(root, "tests", "openapi.snapshot.json"), text);
process.exitCode = lint();

function lint(): number {
  const folder = mkdtempSync(join(tmpdir(), "returns-openapi-"));
  try {
    const file = join(folder, "openapi.json");
    writeFileSync(file, text);
    const cli = join(root, "node_modules", "@redocly", "cli", "bin", "cli.js");
    const config = join(root, "tests", "openapi.redocly.yaml");
    const { status, error } = spawnSync(
      process.execPath,
      [cli, "lint", file, `--config=${config}`, "--max-problems=100"],
      {
        stdio: "inherit",
        // Nothing about a run leaves the machine.
        env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
      },
    );
    if (error) throw error;
    return status ?? 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
