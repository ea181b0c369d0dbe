import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { seal, sealText, unseal, unsealText } from "./seal.ts";

const key = randomBytes(32);

test("a sealed value opens again, and looks different each time", () => {
  const sealed = seal(key, "shop 1", "a token");
  assert.equal(unseal(key, "shop 1", sealed), "a token");
  assert.notDeepEqual(seal(key, "shop 1", "a token"), sealed);
  assert.ok(!sealed.includes("a token"));
});

test("nothing opens with another key, for another context, or with one byte changed", () => {
  const sealed = seal(key, "shop 1", "a token");
  assert.throws(() => unseal(randomBytes(32), "shop 1", sealed));
  assert.throws(() => unseal(key, "shop 2", sealed));
  for (let index = 0; index < sealed.length; index++) {
    const changed = Buffer.from(sealed);
    changed[index] = (changed[index] ?? 0) ^ 1;
    assert.throws(() => unseal(key, "shop 1", changed), `byte ${index}`);
  }
  assert.throws(() => unseal(key, "shop 1", sealed.subarray(0, 20)));
});

test("a text opens for its context alone, and until it ends", () => {
  const value = { name: "App" };
  const text = sealText(key, "person 1", value, 1000);
  const open = (context: string, sealed: string, ms: number): unknown =>
    unsealText(key, context, sealed, new Date(ms));
  assert.deepEqual(open("person 1", text, 999), { ...value, endsAt: 1000 });
  for (const [context, sealed, ms] of [
    ["person 1", text, 1000],
    ["person 2", text, 999],
    ["person 1", text.slice(0, -2), 999],
    ["person 1", "", 999],
    ["person 1", `${text}${"A".repeat(4096)}`, 999],
  ] as const)
    assert.equal(open(context, sealed, ms), null);
});
