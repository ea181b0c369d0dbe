import assert from "node:assert/strict";
import { test } from "node:test";
import { createTargetCookie } from "./cookies.ts";

const cookie = createTargetCookie(false);

const sent = (value: string): string => `other=1; returns-target=${value}; returns=x`;

test("a page of a workspace comes back as it was, from a cookie that scripts cannot read, for 10 minutes", () => {
  for (const target of [
    "/w/a.example/report?sku=A%26B&window=90d",
    "/w/a.example",
    "/w/a.example/alerts?q=;=,",
  ]) {
    const [pair = "", ...attributes] = (cookie.write(target) ?? "").split("; ");
    assert.deepEqual(attributes, ["Path=/", "Max-Age=600", "HttpOnly", "SameSite=Lax"]);
    assert.equal(cookie.read(`a=b; ${pair}`), target);
  }
  assert.match(
    createTargetCookie(true).write("/w/a") ?? "",
    /^__Host-returns-target=.*; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/u,
  );
});

test("a path that is not a page of a workspace is neither stored nor followed", () => {
  for (const target of [
    "",
    "/",
    "/w",
    "//evil.example/w/",
    "https://evil.example/w/a",
    "javascript:alert(1)",
    "/w/../sign-out",
    "/w/%2e%2e/sign-out",
    "/w/\\\\evil.example",
    "/\\evil.example/w/",
    "/w/a\r\nSet-Cookie: a=b",
    "/w/a\u0000",
    "/w/\u00e9",
    `/w/${"a".repeat(2048)}`,
  ]) {
    assert.equal(cookie.write(target), null, target);
    assert.equal(cookie.read(sent(Buffer.from(target).toString("base64url"))), null, target);
  }
  for (const header of [undefined, "", "returns-target", sent("%")]) assert.equal(cookie.read(header), null);
});
