import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { isLoopbackHost } from "./networks.ts";
import { readOrCreateSecret, readSecret, isWeakSecret, knownSecret, secretsOf } from "./secret-file.ts";

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

test("a secret that people make up is weak", () => {
  for (const secret of [
    "s".repeat(32),
    "0123456789abcdef0123456789abcdef",
    "changeme-changeme-changeme-later",
    "this is my Password for the API, ok?",
    "abababababababcabababababababab!",
    "our-example-secret-of-32-characters",
  ]) {
    assert.ok(isWeakSecret(secret), secret);
  }
});

test("a random secret is not, in whatever alphabet", () => {
  for (const encoding of ["hex", "base64", "base64url"] as const) {
    for (let round = 0; round < 200; round += 1) {
      const secret = randomBytes(32).toString(encoding);
      assert.ok(!isWeakSecret(secret), secret);
    }
  }
});

test("this machine's own addresses are distinguished from others", () => {
  for (const host of ["localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]"])
    assert.ok(isLoopbackHost(host), host);
  for (const host of ["0.0.0.0", "::", "10.0.0.1", "localhost.example", "127.0.0.1.example", "1127.0.0.1"]) {
    assert.ok(!isLoopbackHost(host), host);
  }
});

const NEW = "n".repeat(32);
const OLD = "o".repeat(32);
const COMMAS = "one, of before,that has commas";

const listed = (list: string, ...known: string[]) => secretsOf(list, (secret) => known.includes(secret));

test("a list is split at its commas, whatever surrounds them", () => {
  assert.deepEqual(listed(NEW), [NEW]);
  assert.deepEqual(listed(`${NEW},${OLD}`), [NEW, OLD]);
  assert.deepEqual(listed(` ${NEW} ,\n${OLD}\n`, OLD), [NEW, OLD]);
  assert.deepEqual(listed(`${NEW},${OLD}`, NEW), [NEW, OLD]);
  assert.deepEqual(listed(`${NEW},${OLD},${NEW}`, NEW), [NEW, OLD]);
  assert.deepEqual(listed(`${NEW},,${OLD},`, OLD), [NEW, "", OLD]);
  assert.deepEqual(listed(""), [""]);
});

test("a secret with commas that is in use stays whole, and can be rotated", () => {
  assert.deepEqual(listed(COMMAS, COMMAS), [COMMAS]);
  assert.deepEqual(listed(`${NEW},${COMMAS}`, COMMAS), [NEW, COMMAS]);
  assert.deepEqual(listed(`${NEW}, ${OLD}, ${COMMAS}`, COMMAS, OLD), [NEW, OLD, COMMAS]);
});

test("lines do not end a secret: a key file has several", () => {
  const key = `${NEW}\n${OLD}`;
  assert.deepEqual(listed(key), [key]);
});

test("the newest that is known is found", () => {
  assert.equal(
    knownSecret(`${NEW},${OLD}`, (secret) => secret === OLD),
    OLD,
  );
  assert.equal(
    knownSecret(`${NEW},${OLD}`, (secret) => secret.length === 32),
    NEW,
  );
  assert.equal(
    knownSecret(NEW, () => false),
    null,
  );
});
