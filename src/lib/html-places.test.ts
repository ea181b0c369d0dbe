import assert from "node:assert/strict";
import { test } from "node:test";
import { hasUnquotedAttribute, holdsAttributes, placesOf } from "./html-places.ts";

const parts = (template: string): string[] => template.split("$");

test("names the place of each value, and of the end", () => {
  const places = {
    "<p>$</p>": "text text",
    "1 < 2 $": "text text",
    "<!doctype html><!-- a --><p>$": "text text",
    "<style>a{}</style><script src='/a'></script>$": "text text",
    "<title>$</title>": "text text",
    '<a href="$" title="$">$': "address attribute text text",
    '<a href="/w/$?$">': "attribute attribute text",
    '<img alt="a > b" src="$">': "address text",
    '<a href="$$">': "address attribute text",
    '<b class="a"$>$': "attributes text text",
    "<b$ $/>": "attributes attributes text",
    ' title="$"$': "attribute attributes attributes",
    ' href="$"': "address attributes",
    " of $ units": "text text",
    "<b on$": "attributes attributes",
    '<b onload="$">': "nowhere text",
    '<b srcdoc="$">': "nowhere text",
    "<b title=$>": "nowhere text",
    "<b title='$'>": "nowhere text",
    "<script>$</script>$": "nowhere text text",
    "<!-- $ -->$": "nowhere text text",
    "<$": "nowhere attributes",
  };
  for (const [template, expected] of Object.entries(places)) {
    assert.equal(placesOf(parts(template)).join(" "), expected, template);
  }
});

test("knows a template of attributes by its blank and its first attribute", () => {
  for (const template of [' title="$"', " hidden", ' hidden title="$"']) {
    assert.ok(holdsAttributes(parts(template)), template);
  }
  for (const template of ["hidden", ' <b title="$">', " of $", " $", "", "$"]) {
    assert.ok(!holdsAttributes(parts(template)), template);
  }
});

test("finds an attribute without double quotes", () => {
  for (const template of [
    "<b title=a>",
    "<b title=$>",
    "<b title='a'>",
    "<b\ntitle = 'a'>",
    ' id="a" title=a',
  ]) {
    assert.ok(hasUnquotedAttribute(parts(template)), template);
  }
  for (const template of ['<b title="a=b" hidden>a=b</b>', ' id="a=$"', "<style>a[b=c]{}</style>"]) {
    assert.ok(!hasUnquotedAttribute(parts(template)), template);
  }
});
