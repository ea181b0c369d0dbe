import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";

const ENTRY = join(import.meta.dirname, "../simulators/main.ts");

test("a port that is taken is told in one sentence, whether the shop's or a label source's", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  try {
    for (const first of [port, port - 1]) {
      const words = ["--orders", "5", "--products", "3", "--port", String(first)];
      const child = spawn(process.execPath, [ENTRY, ...words], { stdio: ["ignore", "ignore", "pipe"] });
      const [message, [code]] = await Promise.all([text(child.stderr), once(child, "exit")]);
      assert.equal(code, 1);
      assert.equal(message, `Port ${port} is taken: stop the other simulator or give --port.\n`);
    }
  } finally {
    other.close();
  }
});
