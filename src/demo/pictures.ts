import { readFileSync } from "node:fs";
import { BATCH_PRODUCT_PLAN, FAMILY_PLANS } from "./catalogue.ts";
import { DEMO_STORE } from "./demo-store-facts.ts";

/** The drawings by name, each on a square of 64 by 64, with `var(--…)` where it takes a colour of its product. */
const SILHOUETTES: ReadonlyMap<string, string> = new Map(
  readFileSync(new URL("silhouettes.svg", import.meta.url), "utf8")
    .split("\n  </g>")
    .slice(0, -1)
    .map((group) => {
      const [start = "", ...drawing] = group.slice(group.indexOf('  <g id="')).split("\n    ");
      return [start.slice('  <g id="'.length, -'">'.length), drawing.join("\n")];
    }),
);

/** Where a service has the pictures of the demo store; below it `<silhouette>-<colour>.svg`. */
export const PICTURES_PATH = "/demo/pictures/";
/** The route of all of them. */
export const DEMO_PICTURES_ROUTE = `${PICTURES_PATH}*`;

const OWN_ADDRESS = `https://${DEMO_STORE.domain}`;

/** Pictures of the demo store's products, by the path at which this service has them. */
export function demoPictures(): ReadonlyMap<string, string> {
  return new Map([...drawPictures()].map(([name, picture]) => [`${PICTURES_PATH}${name}.svg`, picture]));
}

/** The path at which this service has an image of the demo store; null = it is another store's image. */
export function demoPicturePath(imageUrl: string): string | null {
  return imageUrl.startsWith(`${OWN_ADDRESS}${PICTURES_PATH}`) ? imageUrl.slice(OWN_ADDRESS.length) : null;
}

/** The colours that the demo store sells, as red, green and blue. */
const COLOURS: Readonly<Record<string, number>> = {
  Black: 0x3a3a3d,
  Brass: 0xc9a24b,
  Camel: 0xc49a6c,
  Charcoal: 0x565a60,
  Chestnut: 0x8a4b32,
  Clay: 0xc77b5e,
  Cream: 0xf0e3c6,
  Dusk: 0x8f87ad,
  Forest: 0x3f6b4f,
  Green: 0x5d9270,
  Indigo: 0x3f5188,
  Ink: 0x2f3e5c,
  Ivory: 0xf4ecd9,
  Moss: 0x7c8450,
  Natural: 0xd9c4a0,
  Navy: 0x33456b,
  Oatmeal: 0xdccfb6,
  Ochre: 0xd49a36,
  Olive: 0x76763f,
  Rust: 0xb4552f,
  Sage: 0x9db08f,
  Sand: 0xd6bf98,
  Sky: 0x8fbbdc,
  Slate: 0x6b7885,
  Stone: 0xb3ab9c,
  Tan: 0xb98552,
  "Washed Black": 0x55555a,
  White: 0xfbfaf7,
};

const TILE = "#ece8e1";
const CREAM = "#fbf3df";

/** The name of a product's picture, such as `table-lamp-brass`. */
export function pictureName(silhouette: string, colour: string): string {
  return `${silhouette}-${colour.toLowerCase().replaceAll(" ", "-")}`;
}

/** Every picture of the demo store by its name: a silhouette in the product's colour, as a whole SVG document. */
export function drawPictures(): ReadonlyMap<string, string> {
  const pictures = new Map<string, string>();
  for (const { silhouettes, colours } of [...FAMILY_PLANS, BATCH_PRODUCT_PLAN]) {
    for (const silhouette of new Set(silhouettes)) {
      for (const colour of colours) pictures.set(pictureName(silhouette, colour), draw(silhouette, colour));
    }
  }
  return pictures;
}

function draw(silhouette: string, colour: string): string {
  const drawing = SILHOUETTES.get(silhouette);
  const value = COLOURS[colour];
  if (drawing === undefined || value === undefined)
    throw new Error(`No picture of ${silhouette} in ${colour}.`);
  const fill = colourText(value);
  // Dark things are outlined by a lighter line, which shows their folds.
  const isDark = brightness(value) < 105;
  const line = mixed(value, isDark ? 0xffffff : 0x2b2118, isDark ? 0.38 : 0.5);
  const paint = { fill, line, light: mixed(value, 0xffffff, isDark ? 0.2 : 0.45), cream: CREAM };
  const painted = drawing.replaceAll(
    /var\(--(\w+)\)/gu,
    (_, name: string) => paint[name as keyof typeof paint],
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64" width="128" height="128">
<rect width="64" height="64" fill="${TILE}"/>
<g fill="${fill}" stroke="${line}" stroke-width="1.2" stroke-linejoin="round" stroke-linecap="round">
${painted}
</g>
</svg>`;
}

const channelsOf = (value: number): number[] => [value >> 16, (value >> 8) & 255, value & 255];

function brightness(value: number): number {
  const [red = 0, green = 0, blue = 0] = channelsOf(value);
  return 0.3 * red + 0.59 * green + 0.11 * blue;
}

function mixed(value: number, other: number, share: number): string {
  const others = channelsOf(other);
  const channels = channelsOf(value).map((channel, index) =>
    Math.round(channel * (1 - share) + (others[index] ?? 0) * share),
  );
  return colourText(channels.reduce((sum, channel) => sum * 256 + channel, 0));
}

function colourText(value: number): string {
  return `#${value.toString(16).padStart(6, "0")}`;
}
