import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { redactText } from "./service-logger.ts";

test("a token in any text is cut down to its id", () => {
  const token = `rta_live_0000000000142MPX${"s".repeat(43)}${"c".repeat(6)}`;
  assert.equal(redactText(`"said ${token}."`), '"said rta_live_0000000000142MPX[redacted]."');
});

test("a database address loses its password and keeps the rest", () => {
  const line = '{"url":"postgresql://returns:s3cr3t@db.example:5432/returns"}';
  assert.equal(redactText(line), '{"url":"postgresql://returns:[redacted]@db.example:5432/returns"}');
});

test("the last lines of a process that ends are written, however busy its background is", async () => {
  const program = `
    import { pbkdf2 } from "node:crypto";
    import { createServiceLogger } from ${JSON.stringify(new URL("service-logger.ts", import.meta.url).href)};
    process.once("exit", () => pbkdf2("", "", 100_000, 32, "sha256", () => {}));
    const log = createServiceLogger("info");
    for (const line of [1, 2, 3]) log.info({ line }, "said at the end");`;
  const { stderr } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], {
    env: { UV_THREADPOOL_SIZE: "1" },
  });
  const lines = stderr.trimEnd().split("\n");
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { line: number }).line),
    [1, 2, 3],
  );
});
