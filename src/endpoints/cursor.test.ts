import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Workspace } from "../store/workspace.ts";
import { createCursorCodec, type CursorBinding } from "./cursor.ts";
import { anyCharacter } from "../../tests/support/any-character.ts";

const codec = createCursorCodec(Buffer.alloc(32, 1));
const binding = bindingOf({});

function bindingOf(change: {
  shopKey?: number;
  endpoint?: string;
  filters?: (string | null)[];
}): CursorBinding {
  return {
    workspace: { shopKey: change.shopKey ?? 1 } as Workspace,
    endpoint: change.endpoint ?? "entities",
    filters: change.filters ?? ["all", null],
  };
}

function expectRefused(used: CursorBinding, cursor: string): void {
  assert.throws(
    () => codec.decode(used, cursor),
    { code: "invalid_request", message: /^cursor must be/u },
    cursor,
  );
}

describe("a cursor", () => {
  test("brings back any position", () => {
    const parts = fc.oneof(fc.string({ unit: "grapheme" }), fc.integer());
    fc.assert(
      fc.property(fc.array(parts, { minLength: 1, maxLength: 5 }), (position) => {
        const cursor = codec.encode(binding, position);
        assert.match(cursor, /^[A-Za-z0-9_-]+$/u);
        assert.deepEqual(codec.decode(binding, cursor), position);
      }),
    );
  });

  test("is the same for the same place, so that a page asked for again is the same page", () =>
    assert.equal(codec.encode(binding, [1, "a"]), codec.encode(binding, [1, "a"])));

  test("opens for no other workspace, endpoint, filter or key", () => {
    const cursor = codec.encode(binding, [1, "a"]);
    for (const change of [
      { shopKey: 2 },
      { endpoint: "alerts" },
      { filters: ["all", "null"] },
      { filters: ["all", ""] },
      { filters: ["all"] },
      { filters: [null, "all"] },
    ]) {
      expectRefused(bindingOf(change), cursor);
    }
    assert.throws(() => createCursorCodec(randomBytes(32)).decode(binding, cursor), {
      code: "invalid_request",
    });
  });

  test("distinguishes filters, however their texts are divided", () => {
    const cursor = codec.encode(bindingOf({ filters: ['a","b', "c"] }), [1]);
    expectRefused(bindingOf({ filters: ["a", 'b","c'] }), cursor);
  });

  test("is refused with any bit changed, any byte left out or added, and when it is empty or short", () => {
    const bytes = Buffer.from(codec.encode(binding, [3, "Tops", "Tops", "family"]), "base64url");
    const changed = [Buffer.concat([bytes, Buffer.of(0)]), Buffer.concat([Buffer.of(0), bytes])];
    for (const [index, byte] of bytes.entries()) {
      for (let bit = 0; bit < 8; bit++) changed.push(Buffer.from(bytes.with(index, byte ^ (1 << bit))));
      changed.push(bytes.subarray(0, index), Buffer.from(bytes.filter((_, place) => place !== index)));
    }
    for (const each of changed) expectRefused(binding, each.toString("base64url"));
  });

  test("is refused in any other spelling of the same bytes", () => {
    const cursor = codec.encode(binding, [3, "Tops", "Tops", "family"]);
    const hex = Buffer.from(cursor, "base64url").toString("hex");
    for (const spelling of [
      `${cursor}=`,
      `${cursor}==`,
      ` ${cursor}`,
      `${cursor} `,
      `${cursor}A`,
      `${cursor}.`,
      cursor.slice(0, -1),
      JSON.stringify(cursor),
      hex,
    ])
      expectRefused(binding, spelling);
  });

  test("is refused when it is anything else", () => {
    fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => expectRefused(binding, text)));
  });
});
