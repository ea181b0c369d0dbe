import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import {
  nextSecretFile,
  readOrCreateSecret,
  readOrCreateSecretFile,
  readSecret,
  turnSecret,
} from "./secret-file.ts";

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

  test("is another in another folder", () => {
    assert.notEqual(readOrCreateSecret(join(folder, "a")), readOrCreateSecret(join(folder, "b")));
  });

  test("that is there already is kept as it is", () => {
    writeFileSync(join(folder, "secret"), "kept for years\n", { mode: 0o600 });
    assert.equal(readOrCreateSecret(folder), "kept for years");
  });
});

describe("the next secret of a folder", () => {
  test("takes the place of the one of before, which is kept under its version", () => {
    const place = join(folder, "turning");
    const before = readOrCreateSecret(place);
    const { secret, isMade } = readOrCreateSecretFile(nextSecretFile(place));
    assert.ok(isMade);
    assert.deepEqual(readOrCreateSecretFile(nextSecretFile(place)), { secret, isMade: false });
    assert.equal(readSecret(place), before);
    const change = { before, versionBefore: 7 };
    const { keptFile } = turnSecret(place, change);
    assert.equal(readSecret(place), secret);
    assert.equal(readFileSync(keptFile, "utf8").trim(), before);
    assert.deepEqual(readdirSync(place).toSorted(), ["secret", "secret.7"]);
    for (const file of readdirSync(place)) assert.equal(statSync(join(place, file)).mode & 0o777, 0o600);
    turnSecret(place, change);
    assert.equal(readSecret(place), secret);
  });

  test("stays where it is while the place to keep the one of before holds another secret", () => {
    const place = join(folder, "taken");
    const before = readOrCreateSecret(place);
    readOrCreateSecretFile(nextSecretFile(place));
    writeFileSync(join(place, "secret.1"), "of another installation\n");
    const change = { before, versionBefore: 1 };
    assert.throws(() => turnSecret(place, change), /secret\.1 holds another secret: move it away/u);
    assert.equal(readSecret(place), before);
  });
});
