import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { ConfigError, OPTION_HELP, readConfig } from "../src/config.ts";
import { makeFolder } from "./support/folder.ts";

const folder = makeFolder();

const LONG_SECRET = "4f1d0a9c7be2835166d0f2a9b8c37e54";

/** The sentences of a refused configuration. */
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

  test("are read without leading and trailing spaces", () => {
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

  test("state where shops reach the service, without a trailing slash", () => {
    assert.equal(readConfig({ PUBLIC_URL: "https://returns.example/" }).publicUrl, "https://returns.example");
    for (const address of ["returns.example", "https://returns.example/api", "ftp://returns.example"]) {
      assert.match(
        problemsOf({ PUBLIC_URL: address }).join(),
        /PUBLIC_URL must be an address without a path/u,
      );
    }
  });

  test("accept the Shopify app's secret with its id, also from a file", () => {
    const file = join(folder, "client-secret");
    writeFileSync(file, "app-secret\n");
    const app = { SHOPIFY_CLIENT_ID: "app-id", SHOPIFY_CLIENT_SECRET_FILE: file };
    const { shopifyClientId, shopifyClientSecret } = readConfig(app);
    assert.deepEqual([shopifyClientId, shopifyClientSecret], ["app-id", "app-secret"]);
    const { shopifyPlans } = readConfig({ SHOPIFY_PLANS: "Growth = 2 = growth, Scale=scale" });
    assert.deepEqual(shopifyPlans, [
      ["Growth = 2", "growth"],
      ["Scale", "scale"],
    ]);
    for (const wrong of ["growth", "=growth", "Growth=", "Growth=Big plan", "A=a,A=b", "A=a,"]) {
      assert.match(problemsOf({ SHOPIFY_PLANS: wrong }).join(), /^SHOPIFY_PLANS must list names/u, wrong);
    }
    assert.deepEqual(problemsOf({ SHOPIFY_CLIENT_ID: "app-id" }), [
      "SHOPIFY_CLIENT_ID needs SHOPIFY_CLIENT_SECRET.",
    ]);
  });

  test("name an identity provider with its client and the way back", () => {
    const whole = {
      OIDC_ISSUER: "https://login.example",
      OIDC_CLIENT_ID: "id",
      OIDC_CLIENT_SECRET: "secret",
      PUBLIC_URL: "https://returns.example",
    };
    assert.equal(readConfig(whole).oidcIssuer, "https://login.example");
    for (const part of [
      ...["OIDC_ISSUER", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET", "PUBLIC_URL"].map((name) => ({
        [name]: "",
      })),
      { PUBLIC_URL: "http://returns.example" },
    ])
      assert.match(problemsOf({ ...whole, ...part }).join(), /must be set together, and with PUBLIC_URL/u);
  });

  test("name networks that alerts may be pushed to, and a mail server with its sender", () => {
    assert.deepEqual(readConfig({ PUSH_NETWORKS: "10.0.0.0/8, fd00::/8" }).pushNetworks, [
      ["10.0.0.0", 8],
      ["fd00::", 8],
    ]);
    for (const wrong of ["10.0.0.0", "10.0.0.0/33", "fd00::/129", "localhost/8", "10.0.0.0/8;x"]) {
      assert.match(problemsOf({ PUSH_NETWORKS: wrong }).join(), /^PUSH_NETWORKS must list networks/u, wrong);
    }
    const SMTP_FROM = "alerts@returns.example";
    const url = "smtps://user:p%40ss@mail.example";
    assert.equal(readConfig({ SMTP_URL: url, SMTP_FROM }).smtpUrl?.href, url);
    for (const wrong of [
      "mail.example:25",
      "https://mail.example",
      "smtp://mail.example/x",
      "smtp://a:%@b",
    ]) {
      assert.match(problemsOf({ SMTP_URL: wrong, SMTP_FROM }).join(), /^SMTP_URL must be smtp:/u, wrong);
    }
    assert.match(problemsOf({ SMTP_URL: url }).join(), /SMTP_URL and SMTP_FROM must be set together/u);
    assert.match(problemsOf({ SMTP_URL: url, SMTP_FROM: "x" }).join(), /^SMTP_FROM must be an e-mail/u);
  });

  test("say how long rows are kept: in days, the audit and usage also forever", () => {
    const { keepRunsDays, keepDeliveriesDays, keepAuditDays, keepUsageDays } = readConfig({
      KEEP_RUNS_DAYS: "30",
      KEEP_DELIVERIES_DAYS: "3",
      KEEP_AUDIT_DAYS: "730",
      KEEP_USAGE_DAYS: "forever",
    });
    assert.deepEqual([keepRunsDays, keepDeliveriesDays], [30, 3]);
    assert.deepEqual([keepAuditDays, keepUsageDays], [730, Number.POSITIVE_INFINITY]);
    const limits = { KEEP_RUNS_DAYS: 2, KEEP_DELIVERIES_DAYS: 3, KEEP_AUDIT_DAYS: 90, KEEP_USAGE_DAYS: 31 };
    for (const [name, least] of Object.entries(limits)) {
      const [problem = ""] = problemsOf({ [name]: String(least - 1) });
      assert.ok(problem.startsWith(`${name} must be a whole number from ${least} to 36500`), problem);
      assert.doesNotThrow(() => readConfig({ [name]: String(least) }));
    }
    assert.match(problemsOf({ KEEP_AUDIT_DAYS: "never" }).join(), /from 90 to 36500, or forever\.$/u);
    assert.match(problemsOf({ KEEP_RUNS_DAYS: "forever" }).join(), /^KEEP_RUNS_DAYS must be/u);
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

  test("that are invalid are all named at once, without their values", () => {
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

  test("keep operators' routes on this machine unless told otherwise", () => {
    const config = readConfig({});
    assert.deepEqual([config.operationsHost, config.hasMetricsOnApiPort], ["127.0.0.1", false]);
    const told = readConfig({ OPERATIONS_HOST: "0.0.0.0", METRICS_ON_API_PORT: "true" });
    assert.deepEqual([told.operationsHost, told.hasMetricsOnApiPort], ["0.0.0.0", true]);
    assert.deepEqual(problemsOf({ METRICS_ON_API_PORT: "yes" }), [
      "METRICS_ON_API_PORT must be true or false.",
    ]);
  });

  test("numbers are whole numbers in plain decimal and within their bounds", () => {
    for (const broken of ["abc", "1e3", "0x10", "-1", "1.0", "99999999999", "65536"]) {
      assert.deepEqual(problemsOf({ PORT: broken }), ["PORT must be a whole number from 0 to 65535."]);
    }
  });

  test("each has a line of help", () => {
    for (const { name, defaultText, help } of OPTION_HELP) {
      assert.match(name, /^[A-Z_]+$/u);
      assert.match(help, /\.$/u);
      assert.notEqual(defaultText, "");
    }
    assert.equal(new Set(OPTION_HELP.map((option) => option.name)).size, OPTION_HELP.length);
  });
});

describe("a service that other machines reach", () => {
  const HOST = "0.0.0.0";

  test("is refused with a PUBLIC_URL that is not https", () => {
    const sentence = "PUBLIC_URL must begin with https:// when HOST is not this machine itself.";
    assert.deepEqual(problemsOf({ HOST, PUBLIC_URL: "http://returns.example" }), [sentence]);
    assert.equal(
      readConfig({ HOST, PUBLIC_URL: "http://localhost:8080" }).publicUrl,
      "http://localhost:8080",
    );
    assert.equal(readConfig({ PUBLIC_URL: "http://returns.example" }).publicUrl, "http://returns.example");
  });

  test("is refused with a guessable secret, which is not shown", () => {
    const [problem = "", ...others] = problemsOf({ HOST, RETURNS_SECRET: "changeme".repeat(4) });
    assert.match(problem, /^RETURNS_SECRET must be random when HOST is not this machine itself/u);
    assert.ok(!problem.includes("changeme"));
    assert.deepEqual(others, []);
    assert.deepEqual(readConfig({ HOST, RETURNS_SECRET: LONG_SECRET }).warnings, []);
    assert.equal(readConfig({ RETURNS_SECRET: "s".repeat(32) }).secret, "s".repeat(32));
  });

  test("is warned of another machine's database without TLS", () => {
    const warningsOf = (url: string, host = HOST) =>
      readConfig({ HOST: host, DATABASE_URL: url }).warnings.length;
    const remote = "postgres://user:hunter2@db.example/returns";
    for (const query of ["", "?sslmode=disable", "?sslmode=prefer", "?sslmode=no-verify"]) {
      assert.equal(warningsOf(`${remote}${query}`), 1, query);
    }
    for (const query of ["?sslmode=require", "?sslmode=verify-full", "?ssl=true"]) {
      assert.equal(warningsOf(`${remote}${query}`), 0, query);
    }
    for (const local of [
      "postgres://127.0.0.1/returns",
      "postgres://user@localhost/x",
      "postgres:///returns?host=/run",
    ]) {
      assert.equal(warningsOf(local), 0, local);
    }
    assert.equal(warningsOf(remote, "127.0.0.1"), 0);
    const [warning = ""] = readConfig({ HOST, DATABASE_URL: remote }).warnings;
    assert.match(warning, /^DATABASE_URL names another machine without TLS/u);
    assert.ok(!warning.includes("hunter2"));
  });
});

describe("a secret", () => {
  test("may come from a file, without its last line break", () => {
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

  test("in a file must meet the same rules", () => {
    const file = join(folder, "short");
    writeFileSync(file, "short\n");
    assert.deepEqual(problemsOf({ RETURNS_SECRET_FILE: file }), [
      "RETURNS_SECRET must have at least 32 characters.",
    ]);
  });
});
