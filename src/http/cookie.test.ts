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
  assert.equal(cookie.read("not-returns=a; returns=b=c; returns=d"), "b");
  assert.equal(cookie.read("returns="), "");
  assert.equal(cookie.read(`returns=${"a".repeat(4096)};b`), "a".repeat(4096));
  assert.equal(cookie.read(`returns=${"a".repeat(4097)};b`), null);
});

test("the time to read a header grows with its length alone, whatever it repeats", () => {
  const cookie = createCookie("returns", false, WEEK_SECONDS);
  const timeOf = (header: string): number => {
    const start = performance.now();
    for (let turn = 0; turn < 2; turn += 1) cookie.read(header);
    return performance.now() - start;
  };
  for (const part of [";", "; ", "a=b;", " ", "xreturns=", "returns", "=returns=;"]) {
    const [short, long] = [8192, 131_072].map((length) => {
      const header = part.repeat(length / part.length);
      // The shortest of many short looks: beside other tests, some are cut off.
      return Math.min(...Array.from({ length: 50 }, () => timeOf(header)));
    }) as [number, number];
    // Sixteen times the length; a quadratic time would be 256 times as long.
    assert.ok(long < 1 || long / short < 64, `${part}: ${short} ms, then ${long} ms`);
  }
});
