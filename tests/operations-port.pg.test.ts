import assert from "node:assert/strict";
import { test } from "node:test";
import { freePort } from "./support/free-port.ts";
import { openRaw } from "./support/raw-http.ts";
import { startTestService } from "./support/service.ts";

const PROBES = ["/healthz", "/readyz"];

const statusOf = async (address: string): Promise<number> => (await fetch(address)).status;

test("without an operations port the API's port serves health and readiness, and metrics only if enabled", async () => {
  for (const [option, status] of [
    ["false", 404],
    ["true", 200],
  ] as const) {
    const service = await startTestService({ METRICS_ON_API_PORT: option });
    try {
      for (const path of PROBES) assert.equal(await statusOf(`${service.address}${path}`), 200);
      assert.equal(await statusOf(`${service.address}/metrics`), status);
    } finally {
      await service.stop();
    }
  }
});

test("the port for operators is this machine's alone, also when the API's is not, and takes one Host", async () => {
  const port = await freePort();
  const service = await startTestService({ HOST: "0.0.0.0", OPERATIONS_PORT: String(port) });
  try {
    const api = new URL(service.address).port;
    for (const path of [...PROBES, "/metrics"]) {
      assert.equal(await statusOf(`http://127.0.0.1:${port}${path}`), 200);
      assert.equal(await statusOf(`http://127.0.0.1:${api}${path}`), 404);
    }
    await assert.rejects(fetch(`http://127.0.0.2:${port}/healthz`));
    const { send, answer, close } = await openRaw(`http://127.0.0.1:${port}`);
    const host = `Host: 127.0.0.1:${port}\r\n`;
    for (const [target, headers, status] of [
      ["/healthz", `${host}host: other.example\r\n`, 400],
      ["*", host, 400],
      ["/healthz", host, 200],
    ] as const) {
      send(`GET ${target} HTTP/1.1\r\n${headers}\r\n`);
      assert.equal((await answer()).status, status, target);
    }
    close();
  } finally {
    await service.stop();
  }
});

test("no path of any port starts more than sixteen pipelined requests of a connection", async () => {
  const port = await freePort();
  const service = await startTestService({ OPERATIONS_PORT: String(port) });
  try {
    const operators = `http://127.0.0.1:${port}`;
    const api = [
      "/api/v1/summary",
      "/api/v1/mcp",
      "/sign-in",
      "/docs",
      "/webhooks/shopify",
      "/nothing",
      "/%zz",
    ];
    for (const [address, path] of [
      ...api.map((ofApi) => [service.address, ofApi] as const),
      [operators, "/healthz"] as const,
    ]) {
      const { host } = new URL(address);
      for (const headers of [`Host: ${host}\r\n`, `Host: ${host}\r\nExpect: more\r\n`, ""]) {
        const { socket, send } = await openRaw(address);
        let text = "";
        socket.on("data", (data: Buffer) => (text += data.toString("latin1")));
        send(`GET ${path} HTTP/1.1\r\n${headers}\r\n`.repeat(2000));
        await new Promise((done) => {
          socket.once("close", done);
        });
        assert.ok(text.split("HTTP/1.1 ").length - 1 <= 16, `${path} ${headers}`);
      }
    }
    assert.equal(await statusOf(`${operators}/healthz`), 200);
  } finally {
    await service.stop();
  }
});
