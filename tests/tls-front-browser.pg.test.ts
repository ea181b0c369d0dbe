import assert from "node:assert/strict";
import { request } from "node:https";
import { request as plainRequest } from "node:http";
import type { IncomingMessage } from "node:http";
import { after, before, suite, test } from "node:test";
import { HOME, passkeyLink, signInAgain, startPasskeyPlace } from "./support/passkey-place.ts";
import type { PasskeyPlace } from "./support/passkey-place.ts";
import { createTenant } from "./support/tenants.ts";
import type { Tenant } from "./support/tenants.ts";
import { findTlsFront } from "./support/tls-front.ts";
import { PART_BYTES } from "./support/upload.ts";

/** What has to pass a proxy that ends TLS, through the configurations in deploy/ and the programs they are for. */

type Answer = { status: number; headers: IncomingMessage["headers"]; text: string };

for (const name of ["nginx", "caddy"] as const) {
  const front = await findTlsFront(name);
  const skip = front === null && `There is no ${name} on this machine: deploy/ is not tested with it.`;
  if (skip !== false) console.error(skip);
  suite(`behind ${name}`, { skip }, () => {
    let place: PasskeyPlace;
    let tenant: Tenant;
    let port = 0;
    before(async () => {
      place = await startPasskeyPlace(async (address) => {
        const proxy = await (front as NonNullable<typeof front>).start(address);
        ({ port } = proxy);
        return proxy;
      });
      tenant = await createTenant(place.service.database);
    });
    after(() => place.stop());

    const ask = (path: string, method: string, headers: Record<string, string>, body?: string) =>
      new Promise<Answer>((answered, failed) => {
        const host = { host: "returns.example" };
        const asked = request(
          `https://127.0.0.1:${port}${path}`,
          {
            method,
            headers: { ...host, ...headers },
            servername: "returns.example",
            rejectUnauthorized: false,
          },
          (response) => void read(response).then(answered, failed),
        );
        asked.on("error", failed);
        asked.end(body);
      });

    test("a request gets the answer that the service gives, with its headers", async () => {
      const path = "/api/v1/entities?limit=5";
      const authorization = `Bearer ${tenant.token}`;
      const { status, headers, text } = await ask(path, "GET", { authorization, "x-request-id": "front-1" });
      const direct = await fetch(`${place.service.address}${path}`, { headers: { authorization } });
      assert.deepEqual([status, JSON.parse(text)], [200, await direct.json()]);
      for (const header of ["cache-control", "content-type", "x-returns-api-version"])
        assert.equal(headers[header], direct.headers.get(header), header);
      assert.equal(headers["x-request-id"], "front-1");
    });

    test("a refusal and an MCP call pass, too", async () => {
      assert.equal((await ask("/api/v1/entities", "GET", {})).status, 401);
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
      const headers = {
        authorization: `Bearer ${tenant.token}`,
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": "2025-06-18",
      };
      const answer = await ask("/api/v1/mcp", "POST", headers, body);
      assert.equal(answer.status, 200, answer.text);
      const { result } = JSON.parse(answer.text) as { result: { tools: unknown[] } };
      assert.ok(result.tools.length >= 7);
    });

    test("plain http leads to https", async () => {
      const { status, headers } = await new Promise<Answer>((answered, failed) => {
        plainRequest(
          `http://127.0.0.1:${front?.plainPort}/w?from=here`,
          { headers: { host: "returns.example" } },
          (response) => void read(response).then(answered, failed),
        )
          .on("error", failed)
          .end();
      });
      assert.equal(status, 308);
      assert.match(headers.location ?? "", /^https:\/\/returns\.example(?::\d+)?\/w\?from=here$/u);
    });

    test("the console signs in by passkey and takes parts of 4 MB", async (context) => {
      await place.withDevice(context, async (device) => {
        const { shopDomain } = tenant;
        await device.page.goto(await passkeyLink(place, `Sender by ${name}`, { shopDomain }));
        await device.page.getByRole("button", { name: "Create passkey and sign in" }).click();
        await device.page.waitForURL(`${HOME}/w/${shopDomain}`);
        await signInAgain(device);
        await device.page.waitForURL(`${HOME}/w/${shopDomain}`);
        const sent = await device.page.evaluate<{ status: number; text: string }[]>(
          sendTwoParts(`/w/${shopDomain}/settings/imports`),
        );
        assert.deepEqual(
          sent.map(({ status }) => status),
          [200, 200, 200],
          JSON.stringify(sent),
        );
        const { rows } = await place.service.database.query<{ bytes: number }>(
          "select sum(octet_length(bytes))::integer as bytes from import_part where shop_key = $1",
          [tenant.shopKey],
        );
        assert.equal(rows[0]?.bytes, PART_BYTES + 1000);
      });
    });
  });
}

/** As the page's own script does it: an upload of one file, then its parts. */
function sendTwoParts(address: string): string {
  return `(async () => {
    const post = async (path, body, headers = {}) => {
      const answer = await fetch("${address}" + path, { method: "POST", body, headers });
      return { status: answer.status, text: await answer.text() };
    };
    const fields = new URLSearchParams({ file: "order_lines.csv", bytes: "${PART_BYTES + 1000}" });
    const started = await post("", fields);
    const id = JSON.parse(started.text).href.split("/").at(-1);
    const type = { "content-type": "application/octet-stream" };
    const parts = [${PART_BYTES}, 1000].map((bytes) => new Uint8Array(bytes).fill(97));
    const sent = [started];
    for (const [number, part] of parts.entries())
      sent.push(await post("/" + id + "/parts/order_lines.csv/" + number, part, type));
    return sent;
  })()`;
}

async function read(response: IncomingMessage): Promise<Answer> {
  let text = "";
  for await (const piece of response.setEncoding("utf8")) text += String(piece);
  return { status: response.statusCode ?? 0, headers: response.headers, text };
}
