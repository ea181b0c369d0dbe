import assert from "node:assert/strict";
import { test } from "node:test";
import { renderHtml } from "../../lib/html.ts";
import { imageSources, picture } from "./picture.ts";

const SHOPIFY = imageSources([{ source: "shopify" }]);
const PHOTO = "https://cdn.shopify.com/s/files/1/lamp.jpg?v=1&width=80";

test("images come from Shopify's image host only where Shopify is connected", () => {
  assert.deepEqual(SHOPIFY, ["https://cdn.shopify.com"]);
  assert.deepEqual(imageSources([{ source: "csv" }, { source: "loop" }]), []);
  assert.match(renderHtml(picture(PHOTO, "Lamp", SHOPIFY)), /src="https:\/\/cdn\.shopify\.com\/s\/files/u);
  assert.doesNotMatch(renderHtml(picture(PHOTO, "Lamp", [])), /<img|cdn/u);
});

test("a picture has a fixed size, loads lazily and sends no referrer", () => {
  const markup = renderHtml(picture(PHOTO, `"><b>`, SHOPIFY));
  assert.match(markup, /width="40"\s+height="40"\s+loading="lazy"/u);
  assert.match(markup, /referrerpolicy="no-referrer"/u);
  assert.match(markup, /alt="&quot;&gt;&lt;b&gt;"/u);
});

test("the demo store's pictures come from this service itself", () => {
  const markup = renderHtml(picture("https://demo-store.example/demo/pictures/mug-green.svg", "", []));
  assert.match(markup, /src="\/demo\/pictures\/mug-green\.svg"/u);
});

test("everything else is a tile", () => {
  const others = [
    null,
    "",
    "no address",
    "javascript:alert(1)",
    "https://cdn.shopify.com.evil.example/a.jpg",
    "http://cdn.shopify.com/a.jpg",
    "https://demo-store.example/other.svg",
    "https://demo-store.example.evil.example/demo/pictures/mug-green.svg",
  ];
  for (const url of others) {
    assert.equal(
      renderHtml(picture(url, "Lamp", SHOPIFY)),
      '<span class="picture" aria-hidden="true"></span>',
      String(url),
    );
  }
});
