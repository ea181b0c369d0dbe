import type { Endpoint, Input } from "./endpoint.ts";

/** What a handler receives: a snapshot of the data, and the input. */
export type Call<E extends Endpoint, Snapshot> = Snapshot & { input: Input<E> };

/** A JSON answer, its `meta` without what every answer has, or a CSV file in pieces. */
export type Answer =
  | { kind: "json"; body: { data: unknown; meta: Record<string, unknown> } }
  | { kind: "csv"; filename: string; chunks: AsyncIterable<string> };
