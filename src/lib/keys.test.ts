import assert from "node:assert/strict";
import { hkdfSync } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { deriveKeys, readOrCreateSecret } from "./keys.ts";

const folder = mkdtempSync(join(tmpdir(), "returns-keys-"));
after(() => rmSync(folder, { recursive: true }));

describe("the keys", () => {
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

  test("stay what they are: another derivation would end every token and cursor", () => {
    const pepper = Buffer.from(hkdfSync("sha256", "one", "returns-analytics", "token pepper", 32));
    assert.deepEqual(deriveKeys("one").tokenPepper, pepper);
  });
});

describe("the secret of a folder", () => {
  test("is made once, for the owner's eyes only, folders included", () => {
    const place = join(folder, "deep", "er");
    const secret = readOrCreateSecret(place);
    assert.match(secret, /^[A-Za-z0-9_-]{43}$/u);
    assert.equal(readOrCreateSecret(place), secret);
    assert.equal(statSync(join(place, "secret")).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(place), ["secret"]);
  });

  test("is another in another folder", () => {
    assert.notEqual(readOrCreateSecret(join(folder, "a")), readOrCreateSecret(join(folder, "b")));
  });

  test("that is there already is kept as it is", () => {
    writeFileSync(join(folder, "secret"), "kept for years\n", { mode: 0o600 });
    assert.equal(readOrCreateSecret(folder), "kept for years");
  });
});
