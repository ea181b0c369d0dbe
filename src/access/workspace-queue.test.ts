import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { mock, test } from "node:test";
import { WorkspaceBusy, createWorkspaceQueue } from "./workspace-queue.ts";

/** Work that ends on demand, and what has been started so far. */
function startable() {
  const started: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  return {
    started,
    work: (name: string) => () => {
      started.push(name);
      const end = Promise.withResolvers<string>();
      ends.set(name, end);
      return end.promise;
    },
    end: async (name: string) => {
      ends.get(name)?.resolve(name);
      await turn();
    },
    fail: async (name: string) => {
      ends.get(name)?.reject(new Error(name));
      await turn();
    },
  };
}

/** "a1" is work of workspace 1. */
function shopOf(name: string): number {
  return name.charCodeAt(0) - "a".charCodeAt(0) + 1;
}

test("at most so many of a shop run at once, the rest in the order of arrival; other shops do not wait", async () => {
  const queue = createWorkspaceQueue({ places: 5, mostPerWorkspace: 2, longestWaitMs: 60_000 });
  const { started, work, end, fail } = startable();
  const results = ["a1", "a2", "a3", "a4", "b1"].map((name) => queue(shopOf(name), work(name)));
  await turn();
  assert.deepEqual(started, ["a1", "a2", "b1"]);
  await end("a2");
  assert.deepEqual(started, ["a1", "a2", "b1", "a3"]);
  results.push(queue(1, work("a5")));
  const failed = assert.rejects(results[0] as Promise<string>, /a1/u);
  await fail("a1");
  await failed;
  assert.deepEqual(started.slice(4), ["a4"]);
  for (const name of ["a3", "a4", "a5", "b1"]) await end(name);
  assert.deepEqual(await Promise.all(results.slice(1)), ["a2", "a3", "a4", "b1", "a5"]);
  const again = queue(1, work("a6"));
  await end("a6");
  assert.equal(await again, "a6");
});

test("who has waited too long is refused, and takes no turn", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const queue = createWorkspaceQueue({ places: 4, mostPerWorkspace: 1, longestWaitMs: 100 });
    const { started, work, end } = startable();
    const first = queue(1, work("first"));
    const late = assert.rejects(queue(1, work("late")), WorkspaceBusy);
    mock.timers.tick(60);
    const later = queue(1, work("later"));
    mock.timers.tick(60);
    await late;
    await end("first");
    assert.deepEqual(started, ["first", "later"]);
    mock.timers.tick(1000);
    await end("later");
    assert.deepEqual([await first, await later], ["first", "later"]);
  } finally {
    mock.timers.reset();
  }
});

test("a shop's second work leaves half of the places free, and a free place goes to the shop with the least running", async () => {
  const queue = createWorkspaceQueue({ places: 4, mostPerWorkspace: 4, longestWaitMs: 60_000 });
  const { started, work, end } = startable();
  const names = ["a1", "a2", "a3", "b1", "c1", "b2", "d1", "e1"];
  const results = names.map((name) => queue(shopOf(name), work(name)));
  await turn();
  assert.deepEqual(started, ["a1", "a2", "b1", "c1"]);
  await end("c1");
  assert.deepEqual(started.slice(4), ["d1"]);
  await end("a1");
  assert.deepEqual(started.slice(5), ["e1"]);
  for (const name of ["d1", "e1", "b1"]) await end(name);
  assert.deepEqual(started.slice(6), ["b2"]);
  for (const name of ["a2", "b2", "a3"]) await end(name);
  assert.deepEqual(await Promise.all(results), names);
});
