import assert from "node:assert/strict";
import { test } from "node:test";
import { createCookie } from "./cookie.ts";

const WEEK_SECONDS = 604_800;

test("on https the cookie is bound to the host and sent over https alone", () => {
  const cookie = createCookie("returns", true, WEEK_SECONDS);
  const attributes = "HttpOnly; SameSite=Lax; Secure";
  assert.equal(cookie.write("abc"), `__Host-returns=abc; Path=/; Max-Age=604800; ${attributes}`);
  assert.equal(cookie.clear, `__Host-returns=; Path=/; Max-Age=0; ${attributes}`);
  assert.equal(cookie.read("returns=plain; __Host-returns=abc"), "abc");
  assert.equal(cookie.read("returns=plain"), null);
});

test("on this machine it has neither, because there is no https", () => {
  const cookie = createCookie("returns", false, WEEK_SECONDS);
  assert.equal(cookie.write("abc"), "returns=abc; Path=/; Max-Age=604800; HttpOnly; SameSite=Lax");
  assert.equal(cookie.clear, "returns=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax");
  assert.equal(cookie.read("a=b;returns=abc ; c"), "abc");
  assert.equal(cookie.read("not-returns=abc"), null);
  assert.equal(cookie.read(undefined), null);
});
