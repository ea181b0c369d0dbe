import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { freePort } from "./support/free-port.ts";
import { MCP_PATH } from "./support/mcp.ts";
import { createApp, createMember, startOauthService } from "./support/mcp-oauth.ts";
import { createTenant } from "./support/tenants.ts";
import { use } from "./support/use.ts";

/** The conformance runner's scenarios for an authorization server; its other auth scenarios test clients. */

const RUNNER = join(import.meta.dirname, "../node_modules/mcp-conformance-2026-07-28/dist/index.js");
const service = use(startOauthService);

test("the conformance runner accepts the metadata and a code grant", { timeout: 120_000 }, async () => {
  const { issuer } = service;
  const tenant = await createTenant(service.database);
  const owner = await createMember(service, [tenant]);
  const port = await freePort();
  const app = await createApp(issuer, "Runner", `http://127.0.0.1:${port}/callback`);
  const resource = `${issuer}${MCP_PATH}`;
  const options = { "--url": issuer, "--client-id": app.clientId, "--resource": resource, "--port": port };
  const words = Object.entries(options).flat().map(String);
  const runner = spawn(process.execPath, [RUNNER, "authorization", ...words]);
  let output = "";
  let isAllowed = false;
  for (const stream of [runner.stdout, runner.stderr]) {
    stream.on("data", (piece: Buffer) => {
      output += piece.toString();
      const query = /\/oauth\/authorize\?(\S+)\n/u.exec(output)?.[1];
      if (query === undefined || isAllowed) return;
      isAllowed = true;
      // Acts as the person's browser.
      void app
        .decide(owner.cookie, { request: query, workspace: tenant.shopDomain })
        .then(({ location }) => fetch(location));
    });
  }
  const code = await new Promise((ended) => runner.on("close", ended));
  assert.equal(code, 0, output);
  // A scenario that did not run has no passed check.
  assert.match(output, /metadata-endpoint: 2 passed, 0 failed[^]*code-grant: 1 passed, 0 failed/u);
});
