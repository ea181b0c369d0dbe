import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { readOrCreateSecret, readSecret } from "./secret-file.ts";

const folder = mkdtempSync(join(tmpdir(), "returns-keys-"));
after(() => rmSync(folder, { recursive: true }));

describe("the secret of a folder", () => {
  test("is made once, for the owner's eyes only, folders included", () => {
    const place = join(folder, "deep", "er");
    assert.equal(readSecret(place), null);
    const secret = readOrCreateSecret(place);
    assert.match(secret, /^[A-Za-z0-9_-]{43}$/u);
    assert.equal(readOrCreateSecret(place), secret);
    assert.equal(statSync(join(place, "secret")).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(place), ["secret"]);
  });

  test("is another in another folder", () =>
    assert.notEqual(readOrCreateSecret(join(folder, "a")), readOrCreateSecret(join(folder, "b"))));

  test("that is there already is kept as it is", () => {
    writeFileSync(join(folder, "secret"), "kept for years\n", { mode: 0o600 });
    assert.equal(readOrCreateSecret(folder), "kept for years");
  });
});
