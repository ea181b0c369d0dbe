import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { OPTION_HELP } from "../src/config.ts";
import { camelCase, type Endpoint } from "../src/contract/endpoint.ts";
import { ENDPOINTS } from "../src/contract/registry.ts";
import { ROLES } from "../src/contract/role.ts";
import { AUDIT_WORDS } from "../src/actions/audit/audit.ts";
import { ALL_RIGHTS } from "../src/actions/registry.ts";
import { mayDo } from "../src/actions/right.ts";

const root = join(import.meta.dirname, "..");
const endpoints: readonly Endpoint[] = ENDPOINTS;

/** The documents' tables that are generated from the source, by their heading. */
const TABLES: readonly { file: string; heading: string; rows: readonly (readonly string[])[] }[] = [
  {
    file: "docs/operating/configure.md",
    heading: "| Name | Default | Meaning |",
    rows: OPTION_HELP.map(({ name, defaultText, help }) => [`\`${name}\``, defaultText, help]),
  },
  {
    file: "docs/api.md",
    heading: "| Endpoint | Scope | Returns |",
    rows: endpoints.map((endpoint) => [
      `\`${endpoint.path.replace("/api/v1", "")}\``,
      `\`${endpoint.scope}\``,
      `${endpoint.summary}. ${endpoint.description}${entitlementText(endpoint)}`,
    ]),
  },
  {
    file: "docs/mcp.md",
    heading: "| Tool | Wraps | Scope |",
    rows: endpoints.flatMap(({ tool, path, scope }) =>
      tool === null ? [] : [[`\`${tool.name}\``, `\`${path.replace("/api/v1", "")}\``, `\`${scope}\``]],
    ),
  },
  {
    file: "docs/guides/console.md",
    heading: "| What is done | Name | Viewer | Admin | Owner |",
    rows: rightRows(),
  },
  {
    file: "docs/client.md",
    heading: "| Method | Returns | Scope |",
    rows: endpoints.map(({ name, summary, scope }) => [`\`${camelCase(name)}\``, summary, `\`${scope}\``]),
  },
];

/** One row for each right that a member can have: which roles have it, "✓ confirmed" = with a proof of the last ten minutes. */
function rightRows(): string[][] {
  return Object.entries(ALL_RIGHTS)
    .filter(([, { least }]) => least !== "operator" && least !== "person")
    .map(([name, right]) => [
      AUDIT_WORDS[name] ?? name,
      `\`${name}\``,
      ...ROLES.map((role) => (mayDo(role, right) ? (right.proof === true ? "✓ confirmed" : "✓") : "–")),
    ]);
}

function entitlementText({ entitlements }: Endpoint): string {
  const special = entitlements.filter((name) => name !== "api_access");
  return special.length === 0 ? "" : ` Needs the entitlement \`${special.join("`, `")}\`.`;
}

for (const { file, heading, rows } of TABLES) {
  test(`${file}: the table of ${heading} equals the source (UPDATE_SNAPSHOT=1 writes it)`, () => {
    const lines = readFileSync(join(root, file), "utf8").split("\n");
    const start = lines.indexOf(heading) + 2;
    assert.ok(start >= 2, "the table is there");
    const end = lines.findIndex((line, index) => index >= start && !line.startsWith("|"));
    const expected = rows.map((cells) => `| ${cells.join(" | ")} |`);
    if (process.env["UPDATE_SNAPSHOT"] === "1") {
      writeFileSync(join(root, file), lines.toSpliced(start, end - start, ...expected).join("\n"));
      return;
    }
    assert.deepEqual(lines.slice(start, end), expected);
  });
}
