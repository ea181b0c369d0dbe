import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { html, renderHtml } from "./html.ts";
import type { HtmlValue } from "./html.ts";
import { anyCharacter } from "../../tests/support/any-character.ts";

test("escapes values and keeps markup", () => {
  const name = html`<b title="${'a"b'}">${"<i>&'"}</b>`;
  assert.equal(renderHtml(html`<p>${name}</p>`), '<p><b title="a&quot;b">&lt;i&gt;&amp;&#39;</b></p>');
});

test("joins lists, writes numbers, and shows nothing for absent values", () => {
  const cells: HtmlValue = [1, null, html`<i></i>`, [undefined, false, -0.5]];
  assert.equal(renderHtml(html`${cells}`), "1<i></i>-0.5");
});

test("refuses values other than text and the tag's markup, in every position", () => {
  const forged = [
    JSON.parse('{"text":"<script>"}'),
    new Date(0),
    true,
    () => "",
    Symbol("text"),
    1n,
  ] as HtmlValue[];
  for (const value of [...forged, forged]) {
    assert.throws(() => html`${value}`, TypeError);
    assert.throws(() => html`<b title="${value}"></b>`, TypeError);
    assert.throws(() => html`<b ${value}></b>`, TypeError);
  }
});

test("an attribute takes text alone, whose quotes stay inside it", () => {
  assert.throws(() => html`<b title="${html`<i class="a">`}"></b>`, TypeError);
  assert.equal(renderHtml(html`<b class="a ${["b", 1, null]}"></b>`), '<b class="a b1"></b>');
});

test("an address leads to the web, to mail or to this service, or nowhere", () => {
  const link = (href: HtmlValue): string => renderHtml(html`<a href="${href}"></a>`).slice(9, -6);
  for (const address of ["https://a.test/?b=c", "HTTP://a.test", "mailto:a@b.test", "/docs", "#id", "?a=b"]) {
    assert.equal(link(address), address);
  }
  const hostile = [
    "javascript:alert(1)",
    " javascript:a",
    "java\tscript:a",
    "data:text/html,a",
    "\u0001https:a",
    "",
    null,
  ];
  for (const address of [...hostile, html`/docs`, ["/docs"]]) assert.equal(link(address), "about:invalid");
  const parts = ["", "javascript:alert(1)"];
  assert.match(renderHtml(html`<a href="${parts[0]}${parts[1]}"></a>`), /"about:invalid/u);
  assert.equal(renderHtml(html`<a href="/w/${parts[1]}"></a>`), '<a href="/w/javascript:alert(1)"></a>');
  assert.equal(renderHtml(html`<a${html` href="${parts[1]}"`}></a>`), '<a href="about:invalid"></a>');
});

test("among attributes only templates of attributes are allowed, and absent values show nothing", () => {
  const name = 'a" onclick="b';
  const marked = html`<b ${false}${null}${""}${[html` title="${name}"`, html` hidden`]}></b>`;
  assert.equal(renderHtml(marked), '<b  title="a&quot; onclick=&quot;b" hidden></b>');
  for (const value of ["hidden", 0, ["hidden"]]) assert.throws(() => html`<b ${value}></b>`, TypeError);
});

test("no value is allowed in a script, a style sheet, a comment, a name or an attribute without quotes", () => {
  const value = "a";
  for (const make of [
    () => html`<script>${value}</script>`,
    () => html`<STYLE media="print">${value}</STYLE>`,
    () => html`<!-- ${value} -->`,
    () => html`<b onclick="${value}"></b>`,
    () => html`<b style="color: ${value}"></b>`,
    () => html`<b title=${value}></b>`,
    () => html`<b ${value}="a"></b>`,
    () => html`<${value}></b>`,
    () => html`<b></${value}>`,
  ]) {
    assert.throws(make, TypeError, String(make));
  }
});

test("no text leaves its place in an element or attribute", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (value) => {
      const markup = renderHtml(html`<a title="${value}">${value}</a>`);
      assert.equal(markup.replaceAll(/[^<>"]/gu, ""), '<""><>');
    }),
  );
});
