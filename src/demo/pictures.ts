import { html, type Html } from "../lib/html.ts";
import { BATCH_PRODUCT_PLAN, FAMILY_PLANS } from "./catalogue.ts";
import { DEMO_STORE } from "./demo-store-facts.ts";

/** Colours of a drawing: the product's own, a darker one for its lines, a lighter one, and a warm white. */
type Paint = { fill: string; line: string; light: string; cream: string };

type Silhouette = (paint: Paint) => Html;

const WOOD = "#c9a77c";
const CORK = "#dcc19a";
const RUBBER = "#f7f5f0";

/** Shoulders, body and two sleeves. */
const SLEEVED =
  "L46 15Q50 17 51 22L55 46L48 48L44 29V53H20V29L16 48L9 46L13 22Q14 17 18 15Z M20 31V27 M44 31V27";

const lines = (d: string): Html => html`<path fill="none" d="${d}" />`;
const thick = (d: string, colour: string, width: number): Html =>
  html`<path fill="none" stroke="${colour}" stroke-width="${width}" d="${d}" />`;

/** A thick line of the product's colour with the outline that everything else has. */
const tube = (d: string, { fill, line }: Paint, width: number): Html =>
  html`${thick(d, line, width)}${thick(d, fill, width - 2.4)}`;

const buttons = (x: number, heights: readonly number[], { cream }: Paint): Html[] =>
  heights.map((y) => html`<circle cx="${x}" cy="${y}" r="1.2" fill="${cream}" />`);

/** Silhouettes of the demo store's products, on a square of 64 by 64, each with its main parts as closed paths. */
const SILHOUETTES = {
  dress: () =>
    html`<path
        d="M25 9L27 20Q28 25 26 29L16 53Q32 58 48 53L38 29Q36 25 37 20L39 9H36Q36 16 32 18Q28 16 28 9Z"
      />${lines("M26 29Q32 31 38 29 M29 34L25 54 M35 34L39 54 M32 35V55.5")}`,
  jeans: () =>
    html`<path d="M20 9H44L45 20L47 55H36L33 27Q32 25 31 27L28 55H17L19 20Z" />${lines(
      "M20 13H44 M32 13V25 M32 21Q35 20 35 13 M19.4 18Q25 18.500 26 13 M44.600 18Q39 18.500 38 13 M17.200 51H28.300 M35.700 51H46.800",
    )}`,
  jumper: () =>
    html`<path d="M25 12Q32 17 39 12${SLEEVED}" />${lines(
      "M24 12.500Q32 21 40 12.500 M20 48H44 M10 42.500L17 44.500 M54 42.500L47 44.500 " +
        "M29 23q3 3 0 6q-3 3 0 6q3 3 0 6q-3 3 0 6 M35 23q-3 3 0 6q3 3 0 6q-3 3 0 6q3 3 0 6",
    )}`,
  cardigan: (paint) =>
    html`<path d="M26 11L32 27L38 11${SLEEVED}" />${lines(
      "M24.500 12L32 30L39.500 12 M32 30V53 M20 49H44 M10 42.500L17 44.500 M54 42.500L47 44.500 M23 41h5v5h-5z M36 41h5v5h-5z",
    )}${buttons(32, [33, 39, 45], paint)}`,
  vest: () =>
    html`<path d="M25 11L32 24L39 11L45 13Q42 23 47 29V54H17V29Q22 23 19 13Z" />${lines(
      "M24 12L32 27L40 12 M17 50H47 M24 33l4 4l4-4l4 4l4-4 M24 40l4 4l4-4l4 4l4-4 M21 14Q24 24 19 29 M43 14Q40 24 45 29",
    )}`,
  shirt: (paint) =>
    html`<path d="M26 12L32 17L38 12${SLEEVED}" /><path
        fill="${paint.light}"
        d="M26 11L23 15L28 21L32 16.500L36 21L41 15L38 11L32 16Z"
      />${lines("M32 17V53 M36 28h5v6l-2.500 1.500l-2.500-1.500z M10 43L17 45 M54 43L47 45")}${buttons(
        32,
        [24, 31, 38, 45],
        paint,
      )}`,
  tee: () =>
    html`<path d="M25 12Q32 18 39 12L47 15L56 27L49 32L44 27V54H20V27L15 32L8 27L17 15Z" />${lines(
      "M23.500 12.500Q32 22 40.500 12.500 M20 51H44 M10 25L17 30 M54 25L47 30",
    )}`,
  breton: ({ line }) =>
    html`<path d="M25 12Q32 17 39 12${SLEEVED}" />${thick(
      "M20.600 25H43.400 M20.600 30H43.400 M20.600 35H43.400 M20.600 40H43.400 M20.600 45H43.400 M12.500 29L18.500 30.500 M11.500 35L17.500 36.500 M10.500 41L16.500 42.500 M51.500 29L45.500 30.500 M52.500 35L46.500 36.500 M53.500 41L47.500 42.500",
      line,
      1.8,
    )}${lines("M24 12.500Q32 20 40 12.500")}`,
  jacket: ({ light }) =>
    html`<path
        d="M24 14L27 10H37L40 14L47 17Q51 19 52 24L55 47L48 49L45 31V52H19V31L16 49L9 47L12 24Q13 19 17 17Z"
      /><path fill="${light}" d="M27 9L23 15L29 20L32 14L35 20L41 15L37 9Z" />${lines(
        "M32 14V52 M22 39h7v8h-7z M35 39h7v8h-7z M22 42h7 M35 42h7 M19 33V28 M45 33V28 M9.500 44L16 46 M54.500 44L48 46",
      )}`,
  coat: (paint) =>
    html`<path
        d="M25 8L32 22L39 8L46 11Q49 13 50 18L54 43L48 45L45 29L47 57H17L19 29L16 45L10 43L14 18Q15 13 18 11Z"
      /><path fill="${paint.light}" d="M25 8L22 19L32 29L42 19L39 8L32 22Z" />${lines(
        "M32 29V57 M21 41h6 M37 41h6 M19 31V26 M45 31V26",
      )}${buttons(35, [34, 41, 48], paint)}${buttons(29, [34, 41, 48], paint)}`,
  sneaker: ({ light }) =>
    html`<path d="M8 43V27Q8 24 11 24H16Q19 29 25 26L30 22Q35 32 45 34Q56 36 57 43Z" /><path
        fill="${light}"
        d="M44 34Q56 36 57 43H43Q41 38 44 34Z"
      /><path
        fill="${RUBBER}"
        d="M7 42H58Q59 49 53 49H11Q7 49 7 42Z"
      />${lines("M8 32H15Q19 36 19 42 M26 29L31 26 M29 32L34 29 M33 35L38 31.500 M9 45.500H56")}`,
  boot: ({ line, light }) =>
    html`<path d="M21 10H39V32Q40 36 47 39Q55 42 55 49H19Q18 39 21 30Z" /><path
        fill="${light}"
        d="M28 15H35Q33 24 35 33H29Q26 24 28 15Z"
      /><path
        fill="${line}"
        d="M18 49H56V53H36L33 52V56H18Z"
      />${lines("M22 10V6H26V10 M30 16V32 M32.500 16V32")}`,
  sandal: () => {
    const one = html`<path
        fill="${CORK}"
        d="M13 54Q8 48 11 38Q9 28 9 21Q11 9 19 9Q28 11 28 23Q27 32 27 38Q29 51 23 55Q18 57 13 54Z"
      /><path d="M7 22Q18 13 30 24L29 33Q18 23 8 31Z" /><path
        d="M9 33Q19 27 28.500 36L28 42Q18 34 9.500 39Z"
      />`;
    return html`${one}<g transform="translate(64 0) scale(-1 1)">${one}</g>`;
  },
  bed: ({ light, cream }) =>
    html`<path fill="${WOOD}" d="M9 17Q9 12 14 12H50Q55 12 55 17V55H51V50H13V55H9Z" /><rect
        x="13"
        y="21"
        width="18"
        height="13"
        rx="4"
        fill="${cream}"
      /><rect x="33" y="21" width="18" height="13" rx="4" fill="${cream}" /><path
        d="M7 35Q7 31 11 31H53Q57 31 57 35V51H7Z"
      /><path
        fill="${light}"
        d="M7 35Q7 31 11 31H53Q57 31 57 35V38H7Z"
      />${lines("M18 42Q16 46 18 51 M32 41Q33 46 31 51 M45 42Q47 46 46 51")}`,
  pillow: ({ light }) => {
    const pillow =
      "Q6 6 14 8Q32 12 50 8Q58 6 55 16Q53 21 55 26Q58 36 50 33Q32 30 14 33Q6 36 9 26Q11 21 9 16Z";
    return html`<g transform="translate(0 22)"><path d="M9 16${pillow}" /></g
      ><g transform="translate(0 6)"
        ><path fill="${light}" d="M9 16${pillow}" />${lines("M14 12Q18 15 19 18 M50 12Q46 15 45 18")}</g
      >`;
  },
  cushion: ({ light }) =>
    html`<path d="M12 12Q32 18 52 12Q46 32 52 52Q32 46 12 52Q18 32 12 12Z" /><path
        fill="none"
        stroke="${light}"
        stroke-width="2"
        d="M20 20Q32 23 44 20Q41 32 44 44Q32 41 20 44Q23 32 20 20Z"
      /><circle
        cx="32"
        cy="32"
        r="2.4"
        fill="${light}"
      />${lines("M32 27V29 M32 35V37 M27 32H29 M35 32H37")}`,
  throw: ({ light }) =>
    html`<path d="M11 20Q11 15 16 15H49Q53 15 53 19V46H11Z" /><path
        fill="${light}"
        d="M11 24H48Q53 24 53 19V32Q53 36 48 36H11Z"
      />${lines(
        "M11 24H48Q53 24 53 19 M11 36H48Q53 36 53 31 M13 46v6 M18 46v6 M23 46v6 M28 46v6 M33 46v6 M38 46v6 M43 46v6 M48 46v6 M52 46v6 M18 30l4-3l4 3l4-3l4 3l4-3l4 3",
      )}`,
  "floor-lamp": (paint) =>
    html`${tube("M32 20V55", paint, 4)}<path fill="${paint.cream}" d="M25 6H39L45 24H19Z" /><path
        d="M20 58Q20 53 32 53Q44 53 44 58Z"
      />${lines("M40 24V31")}<circle cx="40" cy="32.500" r="1.300" />`,
  pendant: (paint) =>
    html`${tube("M32 3V14", paint, 3.4)}<path d="M27 13H37V18H27Z" /><ellipse
        cx="32"
        cy="36"
        rx="21"
        ry="19"
        fill="${paint.cream}"
      />${lines(
        "M20 21Q32 24 44 21 M13 29Q32 34 51 29 M11 36Q32 42 53 36 M13 44Q32 49 51 44 M20 52Q32 54.500 44 52",
      )}<path d="M27 53.500H37V57H27Z" />`,
  "reading-light": (paint) =>
    html`<path fill="${paint.cream}" stroke="none" d="M33 34L53 25L60 53H24Z" />${tube(
      "M14 44Q11 15 34 16",
      paint,
      5,
    )}<path d="M31 12L43 10Q52 16 55 26L32 37Q29 24 31 12Z" /><path d="M6 43H24V48H17V51H24V56H6Z" />`,
  "wall-light": (paint) =>
    html`<path fill="${paint.cream}" stroke="none" d="M27 38H57L62 56H22Z" /><path
        d="M8 19H14V47H8Z"
      />${tube("M14 26Q40 16 42 22", paint, 4.6)}<path d="M25 40Q25 21 42 21Q59 21 59 40Z" /><path
        fill="${paint.cream}"
        d="M36 40Q36 46 42 46Q48 46 48 40Z"
      />`,
  mug: (paint) =>
    html`${tube("M43 27Q55 24 54 35Q53 45 42 44", paint, 6)}<path
        d="M12 21H44V44Q44 54 35 54H21Q12 54 12 44Z"
      /><ellipse cx="28" cy="21" rx="16" ry="4" fill="${paint.light}" />${lines("M12.500 46H43.500")}${thick(
        "M22 14q-3-3 0-6 M29 14q-3-3 0-6 M36 14q-3-3 0-6",
        paint.line,
        1.2,
      )}`,
  pan: (paint) =>
    html`${tube("M38 24L56 8", paint, 7.4)}<circle cx="26" cy="37" r="19" /><circle
        cx="26"
        cy="37"
        r="15"
        fill="${paint.light}"
      /><circle cx="54" cy="9.800" r="1.300" fill="${paint.cream}" />${lines("M17 33Q19 27 25 26")}`,
  teapot: (paint) =>
    html`${tube("M18 30Q6 27 7 37Q8 47 19 46", paint, 5.4)}<path
        d="M42 41Q49 38 50 27L57 25Q57 44 42 48Z"
      /><path d="M15 37Q15 24 30 24Q45 24 45 37Q45 53 30 53Q15 53 15 37Z" /><path
        fill="${paint.light}"
        d="M20 26Q30 14 40 26Z"
      /><circle cx="30" cy="17" r="2.800" />${lines("M18 46Q30 50 42 46 M22 53V55H38V53")}`,
  board: ({ cream }) =>
    html`<path
        d="M28 19V11Q28 6 32 6Q36 6 36 11V19H44Q48 19 48 23V54Q48 58 44 58H20Q16 58 16 54V23Q16 19 20 19Z"
      /><circle cx="32" cy="11" r="1.700" fill="${cream}" />${lines(
        "M21 24Q23 40 21 53 M27 24Q25 38 28 53 M34 24Q37 38 34 53 M42 24Q40 40 43 53",
      )}`,
  apron: (paint) =>
    html`${thick("M25 14Q25 5 32 5Q39 5 39 14", paint.line, 1.8)}${thick(
      "M16 31Q9 33 8 42 M48 31Q55 33 56 42",
      paint.line,
      1.8,
    )}<path d="M24 13H40L41 25Q49 27 49 33L47 55Q32 59 17 55L15 33Q15 27 23 25Z" /><path
        fill="${paint.light}"
        d="M23 36H41V43Q41 48 36 48H28Q23 48 23 43Z"
      />${lines("M24 16.500H40 M32 36V48")}`,
  "table-lamp": (paint) =>
    html`<path fill="${paint.cream}" d="M23 7H41L50 31H14Z" /><path
        d="M30 31H34V36Q43 40 42 47Q41 53 32 53Q23 53 22 47Q21 40 30 36Z"
      /><path d="M22 53H42V57H22Z" />${lines("M27 41Q25 45 26 49")}`,
} as const satisfies Record<string, Silhouette>;

/** Where a service has the pictures of the demo store; below it `<silhouette>-<colour>.svg`. */
export const PICTURES_PATH = "/demo/pictures/";
/** The route of all of them. */
export const DEMO_PICTURES_ROUTE = `${PICTURES_PATH}*`;

const OWN_ADDRESS = `https://${DEMO_STORE.domain}`;

/** Pictures of the demo store's products, by the path at which this service has them. */
export function demoPictures(): ReadonlyMap<string, Html> {
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
export function drawPictures(): ReadonlyMap<string, Html> {
  const pictures = new Map<string, Html>();
  for (const { silhouettes, colours } of [...FAMILY_PLANS, BATCH_PRODUCT_PLAN]) {
    for (const silhouette of new Set(silhouettes)) {
      for (const colour of colours) pictures.set(pictureName(silhouette, colour), draw(silhouette, colour));
    }
  }
  return pictures;
}

function draw(silhouette: string, colour: string): Html {
  const shape = (SILHOUETTES as Readonly<Record<string, (paint: Paint) => Html>>)[silhouette];
  const value = COLOURS[colour];
  if (shape === undefined || value === undefined)
    throw new Error(`No picture of ${silhouette} in ${colour}.`);
  const fill = colourText(value);
  // Dark things are outlined by a lighter line, which shows their folds.
  const isDark = brightness(value) < 105;
  const line = mixed(value, isDark ? 0xffffff : 0x2b2118, isDark ? 0.38 : 0.5);
  const paint = { fill, line, light: mixed(value, 0xffffff, isDark ? 0.2 : 0.45), cream: CREAM };
  return html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64" width="128" height="128">
    <rect width="64" height="64" fill="${TILE}" />
    <g fill="${fill}" stroke="${line}" stroke-width="1.2" stroke-linejoin="round" stroke-linecap="round">
      ${shape(paint)}
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
