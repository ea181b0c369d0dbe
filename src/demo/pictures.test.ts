import assert from "node:assert/strict";
import { test } from "node:test";
import { buildCatalogue } from "./catalogue.ts";
import { drawPictures, pictureName } from "./pictures.ts";

const pictures = drawPictures();

test("every product of the demo store has a picture in its first colour, whatever the seed", () => {
  for (const seed of [1, 2, 3]) {
    for (const { title, silhouette, colour } of buildCatalogue(seed, 1).products) {
      assert.ok(pictures.has(pictureName(silhouette, colour)), `${title}: ${silhouette} in ${colour}`);
    }
  }
});

test("each picture is a small separate document without external resources or scripts", () => {
  const texts = new Set<string>();
  for (const [name, text] of pictures) {
    assert.match(text, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/u, name);
    assert.doesNotMatch(text, /style=|var\(|<script|href|undefined|NaN/u, name);
    assert.ok(text.length < 3000, `${name}: ${text.length}`);
    texts.add(text);
  }
  assert.equal(texts.size, pictures.size);
});
