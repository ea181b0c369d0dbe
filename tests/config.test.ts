import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { ConfigError, OPTION_HELP, readConfig } from "../src/config.ts";

const folder = mkdtempSync(join(tmpdir(), "returns-config-"));
after(() => rmSync(folder, { recursive: true }));

const LONG_SECRET = "s".repeat(32);

/** The sentences of the refusal. */
function problemsOf(environment: Record<string, string>): string[] {
  try {
    readConfig(environment);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.message.split("\n");
  }
  assert.fail("nothing was refused");
}

describe("the options", () => {
  test("have defaults that start on one machine with nothing set", () => {
    const config = readConfig({});
    assert.equal(config.host, "127.0.0.1");
    assert.equal(config.port, 8080);
    assert.deepEqual(
      [config.operationsPort, config.databaseUrl, config.dataFolder, config.secret],
      [null, null, null, null],
    );
    assert.deepEqual(readConfig({ PORT: " ", HOST: "", LOG_LEVEL: "" }), config);
  });

  test("are read as they are set, blanks around them cut off", () => {
    const config = readConfig({
      HOST: " 0.0.0.0 ",
      PORT: "0",
      OPERATIONS_PORT: "9090",
      DATABASE_URL: "postgresql://user:pass@db.example/returns",
      RETURNS_DATA_DIR: "./somewhere",
      RETURNS_SECRET: LONG_SECRET,
      LOG_LEVEL: "debug",
      DATABASE_CONNECTIONS: "20",
      DRAIN_SECONDS: "5",
    });
    assert.deepEqual(
      [config.host, config.port, config.operationsPort, config.databaseUrl, config.dataFolder],
      ["0.0.0.0", 0, 9090, "postgresql://user:pass@db.example/returns", "./somewhere"],
    );
    assert.deepEqual(
      [config.secret, config.logLevel, config.maxConnections, config.drainSeconds],
      [LONG_SECRET, "debug", 20, 5],
    );
  });

  test("say where shops reach the service, without the slash at its end", () => {
    assert.equal(readConfig({ PUBLIC_URL: "https://returns.example/" }).publicUrl, "https://returns.example");
    for (const address of ["returns.example", "https://returns.example/api", "ftp://returns.example"]) {
      assert.match(
        problemsOf({ PUBLIC_URL: address }).join(),
        /PUBLIC_URL must be an address without a path/u,
      );
    }
  });

  test("take the Shopify app's secret with its id, from a file too", () => {
    const file = join(folder, "client-secret");
    writeFileSync(file, "app-secret\n");
    const app = { SHOPIFY_CLIENT_ID: "app-id", SHOPIFY_CLIENT_SECRET_FILE: file };
    const { shopifyClientId, shopifyClientSecret } = readConfig(app);
    assert.deepEqual([shopifyClientId, shopifyClientSecret], ["app-id", "app-secret"]);
    assert.deepEqual(problemsOf({ SHOPIFY_CLIENT_ID: "app-id" }), [
      "SHOPIFY_CLIENT_ID needs SHOPIFY_CLIENT_SECRET.",
    ]);
  });

  test("list the web origins that may call the MCP endpoint, each an origin and nothing more", () => {
    const origins = "https://app.example, http://localhost:3000";
    assert.deepEqual(readConfig({ MCP_ALLOWED_ORIGINS: origins }).mcpAllowedOrigins, [
      "https://app.example",
      "http://localhost:3000",
    ]);
    assert.deepEqual(readConfig({}).mcpAllowedOrigins, []);
    for (const wrong of ["app.example", "https://app.example/", "*"]) {
      assert.match(
        problemsOf({ MCP_ALLOWED_ORIGINS: wrong }).join(),
        /^MCP_ALLOWED_ORIGINS must list origins/u,
      );
    }
  });

  test("that are wrong are all named at once, without their values", () => {
    const problems = problemsOf({
      PORT: "65536",
      OPERATIONS_PORT: "-1",
      DATABASE_URL: "mysql://user:hunter2@db.example/x",
      RETURNS_SECRET: "short-hunter2",
      LOG_LEVEL: "loud",
      DATABASE_CONNECTIONS: "0",
      DRAIN_SECONDS: "1.5",
    });
    const names = ["PORT", "OPERATIONS_PORT", "DATABASE_URL", "RETURNS_SECRET", "LOG_LEVEL"];
    for (const name of [...names, "DATABASE_CONNECTIONS", "DRAIN_SECONDS"]) {
      assert.equal(problems.filter((problem) => problem.startsWith(`${name} must`)).length, 1, name);
    }
    assert.equal(problems.length, 7);
    assert.ok(!problems.join("").includes("hunter2"));
  });

  test("numbers are whole numbers in plain decimal and within their bounds", () => {
    for (const broken of ["abc", "1e3", "0x10", "-1", "1.0", "99999999999", "65536"]) {
      assert.deepEqual(problemsOf({ PORT: broken }), ["PORT must be a whole number from 0 to 65535."]);
    }
  });

  test("each has a line of help", () => {
    for (const { name, description } of OPTION_HELP) {
      assert.match(name, /^[A-Z_]+$/u);
      assert.match(description, /\.$/u);
    }
    assert.equal(new Set(OPTION_HELP.map((option) => option.name)).size, OPTION_HELP.length);
  });
});

describe("a secret", () => {
  test("may come from a file, its last line break cut off", () => {
    const secretFile = join(folder, "secret");
    const urlFile = join(folder, "url");
    writeFileSync(secretFile, `${LONG_SECRET}\n`);
    writeFileSync(urlFile, "postgres://db.example/returns\n");
    const config = readConfig({ RETURNS_SECRET_FILE: secretFile, DATABASE_URL_FILE: urlFile });
    assert.deepEqual([config.secret, config.databaseUrl], [LONG_SECRET, "postgres://db.example/returns"]);
  });

  test("is refused when it is given twice, or its file cannot be read", () => {
    const missing = join(folder, "missing");
    assert.deepEqual(problemsOf({ RETURNS_SECRET_FILE: missing }), [
      "RETURNS_SECRET_FILE names a file that cannot be read.",
    ]);
    assert.ok(
      problemsOf({ RETURNS_SECRET_FILE: missing, RETURNS_SECRET: LONG_SECRET }).includes(
        "Set RETURNS_SECRET or RETURNS_SECRET_FILE, not both.",
      ),
    );
  });

  test("in a file is held to the same rules", () => {
    const file = join(folder, "short");
    writeFileSync(file, "short\n");
    assert.deepEqual(problemsOf({ RETURNS_SECRET_FILE: file }), [
      "RETURNS_SECRET must have at least 32 characters.",
    ]);
  });
});
