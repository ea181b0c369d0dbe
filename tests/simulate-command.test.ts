import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import type { Server } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";

const ENTRY = join(import.meta.dirname, "../tools/simulators/main.ts");

test("a port that is taken is reported in one sentence, whether the shop's or a label source's", async () => {
  const { port, lower, upper } = await takeTwoPorts();
  try {
    for (const first of [port, port - 1]) {
      if (first === port - 1) await new Promise((done) => lower.close(done));
      const words = ["--orders", "5", "--products", "3", "--port", String(first)];
      const child = spawn(process.execPath, [ENTRY, ...words], { stdio: ["ignore", "ignore", "pipe"] });
      const [message, [code]] = await Promise.all([text(child.stderr), once(child, "exit")]);
      assert.equal(code, 1);
      assert.equal(message, `Port ${port} is taken: stop the other simulator or give --port.\n`);
    }
  } finally {
    lower.close();
    upper.close();
  }
});

/** Servers on `port - 1` and `port`, below the ports that systems give to whoever asks for any. */
async function takeTwoPorts(): Promise<{ port: number; lower: Server; upper: Server }> {
  for (let port = 20_001 + 2 * (process.pid % 2000); port < 30_000; port += 2) {
    const [lower, upper] = await Promise.all([listenOn(port - 1), listenOn(port)]);
    if (lower !== null && upper !== null) return { port, lower, upper };
    lower?.close();
    upper?.close();
  }
  return assert.fail("no two ports in a row are free");
}

/** Null when the port is taken. */
async function listenOn(port: number): Promise<Server | null> {
  const server = createServer().listen(port, "127.0.0.1");
  return once(server, "listening").then(
    () => server,
    () => null,
  );
}
