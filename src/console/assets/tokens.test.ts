import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

/** WCAG 2.2 AA: text, and what one must see to read a chart. */
const TEXT = 4.5;
const GRAPHICS = 3;

const tokens = readFileSync(new URL("tokens.css", import.meta.url), "utf8");
const charts = readFileSync(new URL("charts.css", import.meta.url), "utf8");
const colours = new Map(
  [...tokens.matchAll(/--([a-z0-9-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);/gu)].map(
    ([, name = "", light = "", dark = ""]) => [name, { light, dark }] as const,
  ),
);

const GRAPHIC_NAMES = ["control", "series-1", "series-2", "series-3", "series-4", "series-5", "series-6"];
const PAIRS: [string, string, number][] = [
  ...["ink", "muted", "accent", "warn"].flatMap((name): [string, string, number][] => [
    [name, "paper", TEXT],
    [name, "sheet", TEXT],
  ]),
  ["ink", "accent-soft", TEXT],
  ["ink", "warn-soft", TEXT],
  ...GRAPHIC_NAMES.map((name): [string, string, number] => [name, "paper", GRAPHICS]),
  ...[0, 1, 2, 3, 4, 5, 6].map((shade): [string, string, number] => ["ink", `heat-${shade}`, TEXT]),
  ...[7, 8].map((shade): [string, string, number] => ["paper", `heat-${shade}`, TEXT]),
];

for (const scheme of ["light", "dark"] as const) {
  test(`colours keep their contrast, ${scheme}`, () => {
    for (const [front, back, least] of PAIRS) {
      const contrast = contrastOf(colours.get(front)?.[scheme] ?? "", colours.get(back)?.[scheme] ?? "");
      assert.ok(contrast >= least, `${front} on ${back}: ${contrast.toFixed(2)}, not ${least}`);
    }
  });

  test(`shades of the heat table go one way, ${scheme}`, () => {
    const shades = Array.from({ length: 9 }, (_, shade) =>
      luminance(colours.get(`heat-${shade}`)?.[scheme] ?? ""),
    );
    const sorted = shades.toSorted((one, other) => (scheme === "light" ? other - one : one - other));
    assert.deepEqual(shades, sorted);
  });
}

test("the style sheet of charts uses colours by name, and only those that are there", () => {
  for (const [, name = ""] of charts.matchAll(/var\(--([a-z0-9-]+)\)/gu)) assert.ok(colours.has(name), name);
  assert.doesNotMatch(charts, /#[0-9a-f]{3,8}\b|rgb\(|hsl\(/u);
});

function contrastOf(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].toSorted(
    (left, right) => left - right,
  );
  return (lighter + 0.05) / (darker + 0.05);
}

function luminance(colour: string): number {
  const parts = [1, 3, 5].map((start) => Number.parseInt(colour.slice(start, start + 2), 16) / 255);
  const linear = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return [0.2126, 0.7152, 0.0722].reduce((sum, weight, index) => sum + weight * (linear[index] ?? 0), 0);
}
