import assert from "node:assert/strict";
import { hkdfSync } from "node:crypto";
import { describe, test } from "node:test";
import { deriveKeys, fingerprintOf, makeKeys, rootFingerprint, sealKeys, unsealKeys } from "./keys.ts";

describe("the keys that earlier versions derived", () => {
  test("are the same for the same secret, and others for another", () => {
    assert.deepEqual(deriveKeys("one"), deriveKeys("one"));
    for (const name of ["tokenPepper", "cursorKey", "sealingKey"] as const) {
      assert.equal(deriveKeys("one")[name].length, 32);
      assert.notDeepEqual(deriveKeys("one")[name], deriveKeys("two")[name]);
    }
  });

  test("differ by purpose", () => {
    const keys = Object.values(deriveKeys("one")).map((key: Buffer) => key.toString("hex"));
    assert.equal(new Set(keys).size, 3);
  });

  test("never change: another derivation would invalidate every token and cursor", () => {
    const pepper = Buffer.from(hkdfSync("sha256", "one", "returns-analytics", "token pepper", 32));
    assert.deepEqual(deriveKeys("one").tokenPepper, pepper);
  });

  test("have the fingerprint of their root secret, which never changes: backups contain it", () => {
    assert.deepEqual(fingerprintOf(deriveKeys("one").tokenPepper), rootFingerprint("one"));
    assert.equal(
      rootFingerprint("one").toString("hex"),
      "9c4cffe7fa0c8b53a29ad48acc48e2b748f3d3ab1229d8be8c1ee0d5439be712",
    );
  });
});

describe("the keys of an installation", () => {
  test("are random, and each has its own purpose", () => {
    const keys = [makeKeys(), makeKeys()].flatMap<Buffer>((each) => Object.values(each));
    assert.equal(new Set(keys.map((key) => key.toString("hex"))).size, 6);
    for (const key of keys) assert.equal(key.length, 32);
  });

  test("are opened only by the root secret and version that they were sealed for", () => {
    const keys = makeKeys();
    const sealed = sealKeys("one", 3, keys);
    assert.deepEqual(unsealKeys("one", 3, sealed), keys);
    assert.throws(() => unsealKeys("two", 3, sealed));
    assert.throws(() => unsealKeys("one", 4, sealed));
    for (let place = 0; place < sealed.length; place += 1) {
      const changed = Buffer.from(sealed);
      changed[place] = (changed[place] ?? 0) ^ 1;
      assert.throws(() => unsealKeys("one", 3, changed));
    }
  });
});
