import assert from "node:assert/strict";
import { test } from "node:test";
import { isFileUrl, isShopUrl } from "./hosts.ts";

const SHOP = new URL("https://my-store.myshopify.com");
const SIMULATOR = new URL("http://127.0.0.1:9000");

test("a shop's token goes to hosts of the platform over https, and to this machine", () => {
  for (const url of ["https://my-store.myshopify.com", "http://127.0.0.1:9000", "http://localhost:9000"]) {
    assert.ok(isShopUrl(new URL(url)), url);
  }
  for (const url of [
    "http://my-store.myshopify.com",
    "https://shop.example",
    "https://my-store.myshopify.com.example",
    "https://my-store.myshopify.com:8443",
    "https://user@my-store.myshopify.com",
    "https://169.254.169.254",
    "http://10.0.0.1",
    "ftp://my-store.myshopify.com",
  ]) {
    assert.ok(!isShopUrl(new URL(url)), url);
  }
});

test("a file is fetched from the platform's storage alone, and from this machine for a shop on it", () => {
  for (const url of ["https://storage.googleapis.com/bucket/file", "https://cdn.shopify.com/file"]) {
    assert.ok(isFileUrl(new URL(url), SHOP), url);
  }
  for (const url of [
    "http://storage.googleapis.com/file",
    "http://127.0.0.1:5432/",
    "https://127.0.0.1/file",
    "https://169.254.169.254/latest/meta-data",
    "https://storage.googleapis.com.example/file",
    "https://notshopify.com/file",
  ]) {
    assert.ok(!isFileUrl(new URL(url), SHOP), url);
  }
  assert.ok(isFileUrl(new URL("http://127.0.0.1:9000/bulk/1"), SIMULATOR));
  assert.ok(!isFileUrl(new URL("https://storage.googleapis.com/file"), SIMULATOR));
});
