import assert from "node:assert/strict";
import { request } from "node:https";
import { request as plainRequest, type IncomingMessage } from "node:http";
import { after, before, suite, test } from "node:test";
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { HOME, passkeyLink, signInAgain, startPasskeyPlace } from "./support/passkey-place.ts";
import type { PasskeyPlace } from "./support/passkey-place.ts";
import { MCP_PATH } from "./support/mcp.ts";
import { createProvider, openCallback } from "./support/mcp-oauth.ts";
import { createTenant, type Tenant } from "./support/tenants.ts";
import { PART_BYTES } from "./support/upload.ts";
import { eventually } from "./support/worker.ts";
import type { TlsProxy } from "./support/tls-proxy.ts";
import { makeFolder } from "./support/folder.ts";
import { freePort } from "./support/free-port.ts";

/** A reverse proxy in front of the service, with its configuration from deploy/. */
type TlsFront = {
  name: "nginx" | "caddy";
  /** The port for plain http. */
  plainPort: number;
  start(address: string): Promise<TlsProxy>;
};

const DEPLOY = join(import.meta.dirname, "../deploy");
const CERTIFICATES = join(import.meta.dirname, "support/tls");
const START_SECONDS = 20;

/** null = the program is not installed. */
async function findTlsFront(name: TlsFront["name"]): Promise<TlsFront | null> {
  const program = ["/usr/sbin", "/usr/bin", "/usr/local/bin"]
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
  if (program === undefined) return null;
  const [port, plainPort] = [await freePort(), await freePort()];
  return { name, plainPort, start: (address) => startFront(name, program, { address, port, plainPort }) };
}

type Place = { address: string; port: number; plainPort: number };

async function startFront(name: TlsFront["name"], program: string, place: Place): Promise<TlsProxy> {
  const folder = makeFolder();
  const args = name === "nginx" ? nginxArguments(folder, place) : caddyArguments(folder, place);
  const environment = {
    RETURNS_HOST: "returns.example",
    RETURNS_TLS: "internal",
    RETURNS_UPSTREAM: new URL(place.address).host,
    HOME: folder,
    XDG_DATA_HOME: folder,
    XDG_CONFIG_HOME: folder,
  };
  const child = spawn(program, args, {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let log = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (log += String(text)));
  const ended = new Promise((done) => child.on("close", done));
  const isUp = async (): Promise<true | null> => {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}: ${log}`);
    return (await listens(place.port)) ? true : null;
  };
  await eventually(isUp, `${name} listens`, START_SECONDS);
  return {
    port: place.port,
    moveOn: () => {},
    stop: async () => {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/** The file of deploy/ with the replacements that its first lines name, and unprivileged ports. */
function nginxArguments(folder: string, { address, port, plainPort }: Place): string[] {
  const site = readFileSync(join(DEPLOY, "nginx.conf"), "utf8")
    .replaceAll(/^ *listen \[::\].*\n/gmu, "")
    .replaceAll("listen 80;", `listen 127.0.0.1:${plainPort};`)
    .replaceAll("listen 443 ssl", `listen 127.0.0.1:${port} ssl`)
    .replaceAll("returns.example.com", "returns.example")
    .replaceAll("127.0.0.1:8080", new URL(address).host)
    .replaceAll("/etc/ssl/returns/fullchain.pem", join(CERTIFICATES, "returns.example.pem"))
    .replaceAll("/etc/ssl/returns/privkey.pem", join(CERTIFICATES, "returns.example.key.pem"));
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  );
  writeFileSync(join(folder, "site.conf"), site);
  writeFileSync(
    join(folder, "nginx.conf"),
    [
      process.getuid?.() === 0 ? "user root;" : "",
      `daemon off; pid ${folder}/pid; error_log stderr; events {}`,
      `http { access_log off; ${temporary.join(" ")} include ${folder}/site.conf; }`,
    ].join("\n"),
  );
  return ["-p", folder, "-e", "stderr", "-c", join(folder, "nginx.conf")];
}

function caddyArguments(folder: string, { port, plainPort }: Place): string[] {
  const own = `{\n\tadmin off\n\tskip_install_trust\n\thttp_port ${plainPort}\n\thttps_port ${port}\n}\n`;
  writeFileSync(join(folder, "Caddyfile"), own + readFileSync(join(DEPLOY, "Caddyfile"), "utf8"));
  return ["run", "--config", join(folder, "Caddyfile"), "--adapter", "caddyfile"];
}

function listens(port: number): Promise<boolean> {
  return new Promise((answer) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("connect", () => {
      socket.destroy();
      answer(true);
    });
    socket.on("error", () => answer(false));
  });
}

/** What must work behind a proxy that terminates TLS, with the configurations in deploy/ and the real programs. */

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

    test("a request gets the service's answer with its headers", async () => {
      const path = "/api/v1/entities?limit=5";
      const authorization = `Bearer ${tenant.token}`;
      const { status, headers, text } = await ask(path, "GET", { authorization, "x-request-id": "front-1" });
      const direct = await fetch(`${place.service.address}${path}`, { headers: { authorization } });
      assert.deepEqual([status, JSON.parse(text)], [200, await direct.json()]);
      for (const header of ["cache-control", "content-type", "x-returns-api-version"])
        assert.equal(headers[header], direct.headers.get(header), header);
      assert.equal(headers["x-request-id"], "front-1");
    });

    test("a refusal and an MCP call get the service's answer, too", async () => {
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

    test("plain http redirects to https", async () => {
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

    test("an MCP client signs in by the official SDK, and every address that it gets is https", async (context) => {
      await place.withDevice(context, async (device) => {
        const { page, own } = device;
        // Addresses sent to the client and shown to the person; only the app's own callback is http.
        const told: string[] = [];
        const viaFront = async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
          const { origin, pathname, search } = new URL(url);
          assert.equal(origin, HOME, `the client is sent to ${String(url)}`);
          const headers = Object.fromEntries(new Headers(init.headers));
          const sent = await new Response(init.body ?? null).text();
          const answer = await ask(`${pathname}${search}`, init.method ?? "GET", headers, sent);
          const answered = Object.entries(answer.headers).map(([key, value]): [string, string] => [
            key,
            String(value),
          ]);
          told.push(JSON.stringify(answered), answer.text);
          return new Response(answer.status === 202 ? null : answer.text, {
            status: answer.status,
            headers: answered,
          });
        };
        const callback = await openCallback(context);
        page.on("request", (asked) => {
          const { origin } = new URL(asked.url());
          if (new URL(origin).hostname !== "127.0.0.1") assert.equal(origin, HOME);
        });
        const provider = createProvider(callback.url);
        const open = () =>
          new StreamableHTTPClientTransport(new URL(`${HOME}${MCP_PATH}`), {
            authProvider: provider,
            fetch: viaFront,
          });
        const first = open();
        await assert.rejects(new Client({ name: "app", version: "1" }).connect(first), /Unauthorized/u);
        const asked = provider.kept.asked as URL;
        assert.deepEqual(
          [asked.origin, asked.pathname, asked.searchParams.get("resource")],
          [HOME, "/oauth/authorize", `${HOME}${MCP_PATH}`],
        );
        await page.goto(asked.href);
        assert.equal(page.url(), `${HOME}/sign-in`);
        await page.goto(
          await passkeyLink(place, `Owner of an app by ${name}`, { shopDomain: tenant.shopDomain }),
        );
        await page.getByRole("button", { name: "Create passkey and sign in" }).click();
        const consent = `${HOME}/w/${tenant.shopDomain}/settings/tokens/connect?`;
        await page.waitForURL((url) => url.href.startsWith(consent));
        told.push(await page.content());
        const cookies = await own.cookies();
        assert.ok(cookies.length > 0);
        for (const { name: cookie, secure, domain, path } of cookies) {
          assert.match(cookie, /^__Host-/u);
          assert.deepEqual([secure, domain, path], [true, "returns.example", "/"], cookie);
        }
        await page.getByRole("button", { name: "Allow access" }).click();
        const answer = await callback.answer;
        assert.equal(answer.get("iss"), HOME);
        await page.waitForFunction(`document.title === "Back in the app"`);
        await first.finishAuth(answer.get("code") ?? "", answer.get("iss") ?? "");
        const client = new Client({ name: "app", version: "1" });
        await client.connect(open());
        const result = await client.callTool({ name: "list_entities", arguments: {} });
        assert.notEqual(result.isError, true, JSON.stringify(result));
        await client.close();
        assert.ok(told.join("").includes(`"issuer":"${HOME}"`), "the metadata was read");
        for (const text of told) assert.doesNotMatch(text, /http:\/\/(?!127\.0\.0\.1:)/u);
      });
    });

    test("the console signs in by passkey and accepts upload parts of 4 MB", async (context) => {
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
