import assert from "node:assert/strict";
import { execFile, spawn, spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { redactText, readableLine } from "./service-logger.ts";

test("a token in any text is cut down to its id", () => {
  const token = `rta_live_0000000000142MPX${"s".repeat(43)}${"c".repeat(6)}`;
  assert.equal(redactText(`"said ${token}."`), '"said rta_live_0000000000142MPX[redacted]."');
});

test("a database address loses its password and keeps the rest", () => {
  const line = '{"url":"postgresql://returns:s3cr3t@db.example:5432/returns"}';
  assert.equal(redactText(line), '{"url":"postgresql://returns:[redacted]@db.example:5432/returns"}');
  const withAt = "postgres://returns:p@ss:w@rd@db.example/returns, postgres://db.example/a:b";
  assert.equal(
    redactText(withAt),
    "postgres://returns:[redacted]@db.example/returns, postgres://db.example/a:b",
  );
});

for (const password of ["p@ss", "p/ss", "p#ss", "p:ss", "p@:/#?ss@", 'p"ss', "p'ss@"]) {
  test(`nothing of the password ${password} is left, whatever signs it holds`, () => {
    const url = `postgres://us@er:${password}@db.example:5432/returns`;
    const line = JSON.stringify({ err: { input: url }, msg: `no answer from ${url} in time` });
    const redacted = "postgres://us@er:[redacted]@db.example:5432/returns";
    assert.deepEqual(JSON.parse(redactText(line)), {
      err: { input: redacted },
      msg: `no answer from ${redacted} in time`,
    });
    const mail = redactText(JSON.stringify(`smtps://mail:${password}@mail.example`));
    assert.equal(mail, '"smtps://mail:[redacted]@mail.example"');
    assert.equal(
      redactText("postgres://db/x?user=a&password=p@s:s&x=1"),
      "postgres://db/x?user=a&password=[redacted]&x=1",
    );
  });
}

test("a long line without a password takes no time", () => {
  const started = performance.now();
  redactText("postgres://a:".repeat(5000));
  assert.ok(performance.now() - started < 500);
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

test("a reader that is slower than the log misses no line, also of a process that ends", async () => {
  const program = `
    import { createServiceLogger } from ${JSON.stringify(new URL("service-logger.ts", import.meta.url).href)};
    const log = createServiceLogger("info");
    const write = () => { for (let line = 0; line < 3000; line++) log.info({ text: "x".repeat(200) }, "a line"); };
    write();
    setTimeout(() => { write(); process.exit(); }, 50);`;
  const { stderr } = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  await sleep(1000);
  assert.equal((await text(stderr)).split('"a line"').length - 1, 6000);
});

test(
  "a full disk below standard error costs lines, and neither ends nor blocks the process",
  { skip: !existsSync("/dev/full") },
  () => {
    const program = `
      import { setTimeout as sleep } from "node:timers/promises";
      import { createServiceLogger } from ${JSON.stringify(new URL("service-logger.ts", import.meta.url).href)};
      const log = createServiceLogger("info");
      log.info("lost");
      await sleep(300);
      log.fatal("lost, too");
      console.log("alive");`;
    const full = openSync("/dev/full", "w");
    const { status, stdout } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], {
      stdio: ["ignore", "pipe", full],
      timeout: 20_000,
    });
    closeSync(full);
    assert.deepEqual([status, String(stdout)], [0, "alive\n"]);
  },
);

const line = (fields: object): string =>
  readableLine(`${JSON.stringify({ level: "info", time: "2026-07-01T12:34:56.789Z", ...fields })}\n`);

test("a line for people has the time of day, the level, what happened and its fields", () => {
  assert.equal(
    line({ run_id: "r1", source: "loop", counts: { records: 5 }, msg: "run succeeded" }),
    '12:34:56 INFO  run succeeded run_id=r1 source=loop counts={"records":5}\n',
  );
});

test("a request is its method, route, status and duration", () => {
  const request = { method: "GET", route: "/api/v1/summary", status: 200, duration_ms: 1.5 };
  assert.equal(
    line({ reqId: "q1", ...request, msg: "request" }),
    "12:34:56 INFO  GET /api/v1/summary 200 in 1.5 ms reqId=q1\n",
  );
});

test("an error shows its stack below, and text other than JSON is unchanged", () => {
  assert.equal(
    line({ level: "error", err: { message: "no", stack: "Error: no\n    at x" }, msg: "it failed" }),
    "12:34:56 ERROR it failed\n  Error: no\n      at x\n",
  );
  assert.equal(readableLine("plain\n"), "plain\n");
});
