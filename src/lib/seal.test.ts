import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { seal, unseal } from "./seal.ts";

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
