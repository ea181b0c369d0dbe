import { once } from "node:events";
import { PassThrough, type Readable } from "node:stream";
import type { Connection, DatabasePool } from "./database.ts";
import { requireValue } from "./query.ts";

/** All streams that a workspace, or this process, may have at once are under way. */
export class StreamsBusy extends Error {
  override name = "StreamsBusy";
}

const BOTH_TAKEN = "Two tables of this workspace are being read already: read them one after the other.";
const ALL_TAKEN = "Too many tables are being read now: try again in a minute.";

/** A part that is read in one piece; a reader that takes none for `stallMs` is disconnected. */
export const PART_BYTES = 65_536;

/**
 * Streams what `make` reads of a shop, all from one snapshot, and resolves when `make` has. Throws `StreamsBusy`, and what
 * `make` throws.
 */
export type OpenStream = (
  shopKey: number,
  make: (connection: Connection) => Promise<AsyncIterable<Uint8Array>>,
) => Promise<Readable>;

/** Takes one of a workspace's two places for streams until the transaction ends; false = both are taken. */
const tryLockStream = requireValue<boolean, [shopKey: number], Connection>(
  "try_lock_stream",
  `select case when pg_try_advisory_xact_lock(hashtextextended('table stream 1', $1)) then true
               else pg_try_advisory_xact_lock(hashtextextended('table stream 2', $1)) end as is_locked
     from coordinator`,
);

/**
 * A stream holds a connection and its snapshot until it ends: at most `longestMs`, and no longer than `stallMs` for a reader
 * that takes nothing. One that is destroyed cancels its statement and closes when its place is free; one that fails is
 * destroyed, so that a part never looks complete.
 */
export function createStreams(
  database: DatabasePool,
  { longestMs, stallMs }: { longestMs: number; stallMs: number },
): OpenStream {
  return async (shopKey, make) => {
    const { open, idle, most } = database.usage();
    if (open - idle >= most) throw new StreamsBusy(ALL_TAKEN);
    const leaving = new AbortController();
    const body = new PassThrough({
      highWaterMark: PART_BYTES,
      destroy: (error, close) => {
        leaving.abort(error ?? undefined);
        // oxlint-disable-next-line promise/no-promise-in-callback -- a stream closes by a callback, a transaction ends by a promise
        void released.then(() => close(error));
      },
    });
    // A failure before the stream is handed out is thrown instead.
    body.on("error", () => {});
    const signal = AbortSignal.any([leaving.signal, AbortSignal.timeout(longestMs)]);
    const opened = Promise.withResolvers<void>();
    const work = async (connection: Connection): Promise<void> => {
      if (!(await tryLockStream(connection, shopKey))) throw new StreamsBusy(BOTH_TAKEN);
      const pieces = await make(connection);
      opened.resolve();
      for await (const piece of pieces) await sendPiece(piece, body, { signal, stallMs });
    };
    const released = database.longSnapshot(shopKey, work, signal).then(
      () => body.end(),
      (error: Error) => {
        opened.reject(error);
        body.destroy(error);
      },
    );
    await opened.promise;
    return body;
  };
}

/** Throws when `signal` aborts, and for a reader that takes nothing for `stallMs`. */
export async function sendPiece(
  piece: Uint8Array,
  body: PassThrough,
  { signal, stallMs }: { signal: AbortSignal; stallMs: number },
): Promise<void> {
  for (let start = 0; start < piece.length; start += PART_BYTES) {
    signal.throwIfAborted();
    if (body.write(piece.subarray(start, start + PART_BYTES))) continue;
    await once(body, "drain", { signal: AbortSignal.any([signal, AbortSignal.timeout(stallMs)]) });
  }
}
