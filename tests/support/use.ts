import { after, before as beforeTests } from "node:test";
import { createTestDatabase, type TestDatabase } from "./database.ts";

let last: Promise<unknown> = Promise.resolve();

/** Like that of node:test, which starts all hooks of a file at once; this one waits for what `use` makes and for earlier hooks. */
export function before(act: () => unknown): void {
  beforeTests(async () => {
    last = last.catch(() => {}).then(act);
    await last;
  });
}

/** Something that the tests of a file share: made before the first of them, from when on its members exist, and stopped after the last. */
export function use<Made extends { stop: () => unknown }>(make: () => Made | Promise<Made>): Made {
  const made = {} as Made;
  before(async () => Object.assign(made, await make()));
  after(() => made.stop());
  return made;
}

/** A database that the tests of a file share, gone after the last of them. */
export function useDatabase(make: () => Promise<TestDatabase> = createTestDatabase): TestDatabase {
  return use(async () => {
    const database = await make();
    return { ...database, stop: () => database.drop() };
  });
}
