import assert from "node:assert/strict";
import { test } from "node:test";
import { createSessionCookie } from "./session-cookie.ts";

const WEEK_SECONDS = 604_800;

test("on https the cookie is bound to the host and sent over https alone", () => {
  const cookie = createSessionCookie(true, WEEK_SECONDS);
  const attributes = "Path=/; HttpOnly; SameSite=Lax; Secure";
  assert.equal(cookie.write("abc"), `__Host-returns=abc; ${attributes}; Max-Age=604800`);
  assert.equal(cookie.clear, `__Host-returns=; ${attributes}; Max-Age=0`);
  assert.equal(cookie.read("returns=plain; __Host-returns=abc"), "abc");
  assert.equal(cookie.read("returns=plain"), null);
});

test("on this machine it has neither, because there is no https", () => {
  const cookie = createSessionCookie(false, WEEK_SECONDS);
  assert.equal(cookie.write("abc"), "returns=abc; Path=/; HttpOnly; SameSite=Lax; Max-Age=604800");
  assert.equal(cookie.clear, "returns=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0");
  assert.equal(cookie.read("a=b;returns=abc ; c"), "abc");
  assert.equal(cookie.read("not-returns=abc"), null);
  assert.equal(cookie.read(undefined), null);
});
