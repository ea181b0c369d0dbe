import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { createAnswerMemory, type AnswerText } from "./answer-memory.ts";

const answer = (length: number) => ({ kind: "json" as const, data: "x".repeat(length), meta: "" });

const lengthOf = (held: AnswerText | undefined) => (held?.kind === "json" ? held.data.length : undefined);

describe("the memory of answers", () => {
  test("returns the stored value, and none under another key", () => {
    const memory = createAnswerMemory(1_000_000);
    memory.set("a", { kind: "json", data: "1", meta: "2" });
    assert.deepEqual(memory.get("a"), { kind: "json", data: "1", meta: "2" });
    assert.equal(memory.get("A"), undefined);
  });

  test("never exceeds its limit, whatever is stored, and counts its size", () => {
    const steps = fc.array(
      fc.record({ key: fc.nat({ max: 40 }), length: fc.nat({ max: 3000 }), reads: fc.boolean() }),
      { maxLength: 300 },
    );
    fc.assert(
      fc.property(steps, fc.nat({ max: 40_000 }), (taken, limit) => {
        const memory = createAnswerMemory(limit);
        for (const { key, length, reads } of taken) {
          if (reads) memory.get(String(key));
          else memory.set(String(key), answer(length));
          assert.ok(memory.usedBytes() <= limit);
        }
        const held = Array.from({ length: 41 }, (_, key) => lengthOf(memory.get(String(key))));
        const characters = held.reduce<number>((sum, length) => sum + (length ?? 0), 0);
        assert.ok(memory.usedBytes() >= 2 * characters);
        assert.equal(
          memory.usedBytes() === 0,
          held.every((length) => length === undefined),
        );
      }),
    );
  });

  test("evicts the least recently requested answer", () => {
    const memory = createAnswerMemory(20_000);
    for (const key of "abcdefgh") memory.set(key, answer(1000));
    memory.get("a");
    for (const key of "ij") memory.set(key, answer(1000));
    assert.notEqual(memory.get("a"), undefined);
    assert.equal(memory.get("b"), undefined);
    assert.notEqual(memory.get("j"), undefined);
  });

  test("does not let one answer push out the others", () => {
    const memory = createAnswerMemory(20_000);
    memory.set("a", answer(1000));
    memory.set("b", answer(9000));
    assert.notEqual(memory.get("a"), undefined);
    assert.equal(memory.get("b"), undefined);
  });

  test("takes an answer as long as it says, and none that is longer", () => {
    const memory = createAnswerMemory(20_000);
    const file = { kind: "file", filename: "f", type: "text/csv" } as const;
    memory.set("a", answer(memory.longest - "a".length));
    memory.set("b", answer(memory.longest));
    memory.set("c", { ...file, content: "x".repeat(memory.longest - 2) });
    memory.set("d", { ...file, content: "x".repeat(memory.longest - 1) });
    assert.deepEqual(
      ["a", "b", "c", "d"].map((key) => memory.get(key) !== undefined),
      [true, false, true, false],
    );
    assert.ok(memory.usedBytes() > 2 * 2 * (memory.longest - 2));
  });

  test("stores nothing with a limit of 0", () => {
    const memory = createAnswerMemory(0);
    memory.set("a", answer(0));
    assert.equal(memory.get("a"), undefined);
  });
});
