import assert from "node:assert/strict";
import { test } from "node:test";
import { invalidRequest } from "../contract/errors.ts";
import { countEnd, createUsageMemory, type CountedCaller } from "./usage-count.ts";

const CALLER: CountedCaller = { shopKey: 7, tokenId: "0000000000700001", day: "2026-11-22" };
const ASKED = { endpoint: "summary", surface: "rest" } as const;

test("equal requests are one count, others their own", () => {
  const memory = createUsageMemory();
  memory.count(CALLER, ASKED, "ok", true);
  memory.count(CALLER, ASKED, "ok", false);
  memory.count(CALLER, { ...ASKED, surface: "mcp" }, "ok", true);
  memory.count({ ...CALLER, day: "2026-11-23" }, ASKED, "ok", true);
  memory.count(CALLER, ASKED, "forbidden", false);
  assert.deepEqual(
    memory
      .take()
      .map((each) => [each.day, each.surface, each.outcome, each.requests, each.quotaRequests].join(" ")),
    [
      "2026-11-22 rest ok 2 1",
      "2026-11-22 mcp ok 1 1",
      "2026-11-23 rest ok 1 1",
      "2026-11-22 rest forbidden 1 0",
    ],
  );
  assert.deepEqual(memory.take(), []);
});

test("counts that could not be written are added to those made meanwhile", () => {
  const memory = createUsageMemory();
  memory.count(CALLER, ASKED, "ok", true);
  const taken = memory.take();
  memory.count(CALLER, ASKED, "ok", false);
  memory.putBack(taken);
  assert.deepEqual(memory.take(), [{ ...CALLER, ...ASKED, outcome: "ok", requests: 2, quotaRequests: 1 }]);
});

test("counts that stay unwritten take bounded memory, and the requests that are dropped are counted", () => {
  const memory = createUsageMemory(2);
  const ask = (day: string): void => memory.count({ ...CALLER, day }, ASKED, "ok", true);
  for (const day of ["2026-11-21", "2026-11-22", "2026-11-22"]) ask(day);
  const taken = memory.take();
  for (const day of ["2026-11-21", "2026-11-23"]) ask(day);
  assert.equal(memory.putBack(taken), 2);
  assert.deepEqual(
    memory.take().map(({ day, requests }) => [day, requests]),
    [
      ["2026-11-21", 2],
      ["2026-11-23", 1],
    ],
  );
});

test("a request counts by how it ended, once it is known whose it is", async () => {
  const memory = createUsageMemory();
  const fail = (error: Error, isKnown: boolean): Promise<void> =>
    countEnd(memory.count, ASKED, (request) => {
      if (isKnown) request.caller = CALLER;
      return Promise.reject(error);
    });
  await assert.rejects(fail(invalidRequest("No."), true));
  await assert.rejects(fail(new Error("broken"), true));
  await assert.rejects(fail(new Error("unknown"), false));
  assert.deepEqual(
    memory.take().map((each) => each.outcome),
    ["invalid_request", "internal_error"],
  );
});
