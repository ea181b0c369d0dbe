import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { loopReturn } from "../../simulators/loop/returns.ts";
import { startLoopSimulator } from "../../simulators/loop/server.ts";
import { SourceFailed } from "../../src/sync/connector.ts";
import { openLoop } from "../../src/sync/connectors/loop/client.ts";
import type { LoopClient } from "../../src/sync/connectors/loop/client.ts";
import { readWindow } from "../../src/sync/connectors/loop/read-window.ts";
import { RETRY_POLICY } from "../../src/sync/connectors/kit/http.ts";
import { openJson } from "../../src/sync/connectors/kit/label-run.ts";
import { LOOP } from "../../src/sync/connectors/loop/connector.ts";
import { use } from "../support/use.ts";

const SECOND = "2026-02-01T00:00:00.000Z";
const LATER = "2026-06-01T00:00:00.000Z";
const COUNT = 25;

const simulator = use(() => startLoopSimulator({ returns: [], requests: 10_000 }));
let client: LoopClient;

before(async () => {
  const signal = new AbortController().signal;
  const { url, apiKey } = simulator;
  client = openLoop(openJson(LOOP, { url, secrets: { apiKey }, signal }, RETRY_POLICY), 10);
});

beforeEach(() => {
  for (let index = 0; index < COUNT; index += 1) put(index, SECOND);
});

test("a second of several pages is read until it names the same returns twice, and gives all that are in it", async () => {
  const ids = Array.from({ length: COUNT }, (_, index) => String(index));
  assert.deepEqual((await readSecond()).toSorted(), ids.toSorted());
  // The first answer only says that there are several pages; the first of two passes has three.
  for (const answers of [2, 3]) {
    put(0, SECOND);
    simulator.control.changeAfter(answers, () => put(0, LATER));
    assert.deepEqual((await readSecond()).toSorted(), ids.toSorted(), `after ${answers} answers`);
  }
});

test("a second of several pages that changes in every pass is a failure after few requests", async () => {
  const asked = simulator.control.requests.length;
  for (let answers = 1; answers < 100; answers += 1) {
    simulator.control.changeAfter(answers, () => put(0, answers % 2 === 0 ? SECOND : LATER));
  }
  await assert.rejects(
    readSecond(),
    new SourceFailed(
      `Loop has several pages of returns updated at ${SECOND}, and they changed each time they were read.`,
    ),
  );
  assert.equal(simulator.control.requests.length - asked, 25);
});

function put(index: number, updatedAt: string): void {
  simulator.control.put(loopReturn({ id: String(index), updatedAt }));
}

async function readSecond(): Promise<string[]> {
  const from = new Date(SECOND);
  const until = new Date(from.getTime() + 1000);
  const { returns } = await readWindow(client, { from, until, windowMs: 1000, pageSize: 10 });
  return returns.map((returned) => String(returned.id));
}
