import { setImmediate } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { NextRows } from "../store/query.ts";

/** What is written of one chunk: `add` gathers an item, `write` writes them all. */
type Portion<Item> = { add(item: Item): void; write(): Promise<void> };

/** Gathering this many items takes a millisecond or two, the longest that the database waits for its next statement. */
const ITEMS_PER_TURN = 8;

/**
 * Reads chunks until an empty one. The items of one are added while the database writes the previous one and fetches the next.
 * The connection has one task at a time, and none when this ends, also if it throws.
 */
export async function inPortions<Item>(
  read: () => Promise<Item[]>,
  open: () => Portion<Item>,
): Promise<void> {
  let items = await read();
  let working = items.length > 0 ? read() : Promise.resolve([]);
  try {
    while (items.length > 0) {
      // It is awaited below; a failure meanwhile must not be unhandled.
      working.catch(() => {});
      const portion = open();
      for (const [place, item] of items.entries()) {
        if (place % ITEMS_PER_TURN === 0) await setImmediate();
        portion.add(item);
      }
      items = await working;
      const isLast = items.length === 0;
      working = portion.write().then(() => (isLast ? [] : read()));
    }
    await working;
  } finally {
    await working.catch(() => {});
  }
}

/**
 * Takes staged rows to their table, portion by portion, as parameters of statements that run on the workspace's node alone:
 * `list` finds what is stored of some keys, `put` stores the rows that are new or different. Returns how many these are.
 * `onChanged` sees each of them beside what was stored.
 */
export async function putChanged<Row extends object>(
  next: NextRows<Row>,
  keyOf: (row: Row) => string,
  list: (keys: string[]) => Promise<Row[]>,
  put: (rows: Row[]) => Promise<void>,
  onChanged: (row: Row, stored: Row | undefined) => void,
): Promise<number> {
  let changes = 0;
  for (let rows = await next(); rows.length > 0; rows = await next()) {
    const stored = new Map((await list(rows.map(keyOf))).map((row) => [keyOf(row), row]));
    const changed = rows.filter((row) => !isDeepStrictEqual(stored.get(keyOf(row)), row));
    for (const row of changed) onChanged(row, stored.get(keyOf(row)));
    if (changed.length > 0) await put(changed);
    changes += changed.length;
  }
  return changes;
}
