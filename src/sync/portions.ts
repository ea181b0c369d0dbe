/**
 * Reads portions until an empty one. `prepare` works on one while the database writes the one before and gathers the
 * one after; it shares nothing with the function it returns for an earlier one, which writes. The connection has one
 * thing to do at a time, and nothing when this ends, also when it throws.
 */
export async function inPortions<Item>(
  read: () => Promise<Item[]>,
  prepare: (portion: readonly Item[]) => () => Promise<void>,
): Promise<void> {
  let portion = await read();
  let working = portion.length > 0 ? read() : Promise.resolve([]);
  try {
    while (portion.length > 0) {
      // It is awaited below; a failure meanwhile must not count as unhandled.
      working.catch(() => {});
      const write = prepare(portion);
      portion = await working;
      const isLast = portion.length === 0;
      working = write().then(() => (isLast ? [] : read()));
    }
    await working;
  } finally {
    await working.catch(() => {});
  }
}
