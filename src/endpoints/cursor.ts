import { createHmac, timingSafeEqual } from "node:crypto";
import { invalidRequest } from "../contract/errors.ts";
import type { Workspace } from "../store/workspace.ts";

/** The binding of a cursor: it is valid only for this workspace, this endpoint and these filters. */
export type CursorBinding = { workspace: Workspace; endpoint: string; filters: readonly (string | null)[] };

/** A keyset position: the sort values of the last row of a page. */
type CursorPosition = readonly (string | number)[];

/** The rows of one page of those found, which are one more if there is a further page, and its echoes. */
export function pageOf<Row>(
  found: readonly Row[],
  limit: number,
  {
    cursors,
    binding,
    positionOf,
  }: {
    cursors: CursorCodec;
    binding: CursorBinding;
    positionOf: (row: Row) => CursorPosition;
  },
) {
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : undefined;
  const next_cursor = last === undefined ? null : cursors.encode(binding, positionOf(last));
  return { rows, echo: { limit, returned: rows.length, next_cursor } };
}

export type CursorCodec = {
  encode(binding: CursorBinding, position: CursorPosition): string;
  /** Throws `invalid_request` for anything that `encode` did not make for this binding. */
  decode(binding: CursorBinding, cursor: string): CursorPosition;
};

const MAC_BYTES = 16;

/** Opaque, authenticated cursors: base64url of HMAC-SHA-256 (16 bytes) and the position. */
export function createCursorCodec(key: Buffer): CursorCodec {
  const mac = (binding: CursorBinding, payload: Buffer): Buffer =>
    createHmac("sha256", key)
      .update(JSON.stringify([binding.endpoint, binding.workspace.shopKey, binding.filters]))
      .update("\0")
      .update(payload)
      .digest()
      .subarray(0, MAC_BYTES);
  return {
    encode: (binding, position) => {
      const payload = Buffer.from(JSON.stringify(position));
      return Buffer.concat([mac(binding, payload), payload]).toString("base64url");
    },
    decode: (binding, cursor) => {
      const bytes = Buffer.from(cursor, "base64url");
      const payload = bytes.subarray(MAC_BYTES);
      // Base64url has several spellings of the same bytes; only the one we made counts.
      const isCanonical = bytes.toString("base64url") === cursor && bytes.length > MAC_BYTES;
      if (!isCanonical || !timingSafeEqual(bytes.subarray(0, MAC_BYTES), mac(binding, payload))) {
        throw invalidRequest(
          ({ endpointKind }) =>
            `cursor must be a meta.next_cursor of this ${endpointKind}, passed back verbatim with the same filters.`,
          "cursor",
        );
      }
      return JSON.parse(payload.toString("utf8")) as CursorPosition;
    },
  };
}
