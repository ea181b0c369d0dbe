import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { isLoopbackHost } from "./networks.ts";
import { isWeakSecret } from "./weak-secret.ts";

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
