import { after, before } from "node:test";

/** What the tests of a file share: made before the first of them, when its members are there, and stopped after the last. */
export function use<Made extends { stop: () => unknown }>(make: () => Made | Promise<Made>): Made {
  const made = {} as Made;
  before(async () => {
    Object.assign(made, await make());
  });
  after(() => made.stop());
  return made;
}
