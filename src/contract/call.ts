import type { Endpoint, Input } from "./endpoint.ts";

/** What a handler receives: the workspace, the input, and the time. */
export type Call<E extends Endpoint, Workspace> = { workspace: Workspace; input: Input<E>; now: Date };

/** A JSON answer, or a CSV file in pieces. */
export type Answer =
  | { kind: "json"; body: { data: unknown; meta: Record<string, unknown> } }
  | { kind: "csv"; filename: string; chunks: AsyncIterable<string> };
