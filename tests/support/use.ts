import { after, before as beforeTests } from "node:test";

let last: Promise<unknown> = Promise.resolve();

/** As that of node:test, which begins all hooks of a file at once: this one waits for what `use` makes and for earlier hooks. */
export function before(act: () => unknown): void {
  beforeTests(async () => {
    last = last.catch(() => {}).then(act);
    await last;
  });
}

/** What the tests of a file share: made before the first of them, when its members are there, and stopped after the last. */
export function use<Made extends { stop: () => unknown }>(make: () => Made | Promise<Made>): Made {
  const made = {} as Made;
  before(async () => Object.assign(made, await make()));
  after(() => made.stop());
  return made;
}
