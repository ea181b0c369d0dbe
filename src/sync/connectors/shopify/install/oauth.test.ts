import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { isShopHost } from "../api/hosts.ts";
import { isSignedQuery } from "./oauth.ts";

const SECRET = "hush";
const sign = (message: string): string => createHmac("sha256", SECRET).update(message).digest("hex");

test("a query is signed over its other parameters in the order of their names, as they are or encoded", () => {
  const pairs = { timestamp: "1337178173", shop: "some.myshopify.com", host: "YWRtaW4=", code: "a b&c" };
  const plain = sign("code=a b&c&host=YWRtaW4=&shop=some.myshopify.com&timestamp=1337178173");
  const encoded = sign("code=a+b%26c&host=YWRtaW4%3D&shop=some.myshopify.com&timestamp=1337178173");
  for (const hmac of [plain, encoded]) {
    assert.ok(isSignedQuery(new URLSearchParams({ ...pairs, hmac }), SECRET));
    assert.ok(!isSignedQuery(new URLSearchParams({ ...pairs, hmac }), "other"));
    assert.ok(!isSignedQuery(new URLSearchParams({ ...pairs, code: "d", hmac }), SECRET));
    assert.ok(!isSignedQuery(new URLSearchParams({ ...pairs, more: "1", hmac }), SECRET));
  }
});

test("a query without a signature, with an invalid one or with a repeated name is refused", () => {
  const hmac = sign("shop=some.myshopify.com");
  for (const query of [
    "",
    "shop=some.myshopify.com",
    "shop=some.myshopify.com&hmac=",
    `shop=some.myshopify.com&hmac=${hmac.slice(1)}`,
    `shop=some.myshopify.com&hmac=${hmac}&hmac=${hmac}`,
    `shop=some.myshopify.com&shop=some.myshopify.com&hmac=${hmac}`,
  ]) {
    assert.ok(!isSignedQuery(new URLSearchParams(query), SECRET), query);
  }
  assert.ok(isSignedQuery(new URLSearchParams(`shop=some.myshopify.com&hmac=${hmac}`), SECRET));
});

test("only a name directly below myshopify.com is a shop's host", () => {
  assert.ok(isShopHost("my-store1.myshopify.com"));
  for (const host of [
    "myshopify.com",
    "A.myshopify.com",
    "a.myshopify.com.",
    "a.b.myshopify.com",
    "a\n.myshopify.com",
  ]) {
    assert.ok(!isShopHost(host), host);
  }
  assert.ok(!isShopHost(`${"a".repeat(300)}.myshopify.com`));
});
