import assert from "node:assert/strict";
import { test } from "node:test";
import { knownSecret, secretsOf } from "./secret-list.ts";

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
