import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { html, renderHtml } from "./html.ts";
import type { HtmlValue } from "./html.ts";

test("escapes values and keeps markup", () => {
  const name = html`<b title="${'a"b'}">${"<i>&'"}</b>`;
  assert.equal(renderHtml(html`<p>${name}</p>`), '<p><b title="a&quot;b">&lt;i&gt;&amp;&#39;</b></p>');
});

test("joins lists, writes numbers, and shows nothing for what is absent", () => {
  const cells: HtmlValue = [1, null, html`<i></i>`, [undefined, false, -0.5]];
  assert.equal(renderHtml(html`${cells}`), "1<i></i>-0.5");
});

test("refuses to be forged: text that looks like markup of the tag is text", () => {
  const forged = JSON.parse('{"text":"<script>"}') as unknown as HtmlValue;
  assert.doesNotMatch(renderHtml(html`${forged}`), /script/u);
});

test("no text leaves its place in an element or attribute", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (value) => {
      const markup = renderHtml(html`<a title="${value}">${value}</a>`);
      assert.equal(markup.replaceAll(/[^<>"]/gu, ""), '<""><>');
    }),
  );
});
