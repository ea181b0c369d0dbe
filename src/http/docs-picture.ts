import { html } from "../lib/html.ts";
import type { Html } from "../lib/html.ts";

type Attributes = Readonly<Record<string, string>>;

/** The shapes that a picture may hold, each with the attributes that it may have. */
const SHAPES: Readonly<Record<string, (given: Attributes, words: string) => Html>> = {
  text: ({ x, y, class: name, fill, "text-anchor": anchor, "font-size": size }, words) =>
    html`<text x="${x}" y="${y}" class="${name}" fill="${fill}"${anchor && html` text-anchor="${anchor}"`}${size && html` font-size="${size}"`}>${words}</text>\n`,
  line: (a) =>
    html`<line x1="${a.x1}" y1="${a.y1}" x2="${a.x2}" y2="${a.y2}" class="${a.class}" stroke="${a.stroke}"${a["stroke-opacity"] && html` stroke-opacity="${a["stroke-opacity"]}"`}${a["stroke-width"] && html` stroke-width="${a["stroke-width"]}"`}${a["stroke-dasharray"] && html` stroke-dasharray="${a["stroke-dasharray"]}"`}/>\n`,
  path: ({ d, class: name, stroke, fill, "stroke-width": width, "stroke-dasharray": dashes }) =>
    html`<path d="${d}" class="${name}" stroke="${stroke}" fill="${fill}" stroke-width="${width}"${dashes && html` stroke-dasharray="${dashes}"`}/>\n`,
  rect: ({ x, y, width, height, rx, class: name, fill, "fill-opacity": opacity }) =>
    html`<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="${rx}" class="${name}" fill="${fill}" fill-opacity="${opacity}"/>\n`,
  circle: ({ cx, cy, r, class: name, fill, stroke, "stroke-width": width }) =>
    html`<circle cx="${cx}" cy="${cy}" r="${r}" class="${name}" fill="${fill}"${stroke && html` stroke="${stroke}" stroke-width="${width}"`}/>\n`,
};

/** An SVG file of the documents as a part of a page, whose style sheet colours its classes. */
export function renderPicture(svg: string, label: string): Html {
  const [root, ...shapes] = [...svg.matchAll(/<(\w+)((?: [\w-]+="[^"]*")+)\/?>([^<]*)/gu)].map(
    ([, name = "", attributes = "", words = ""]) => ({ name, given: attributesOf(attributes), words }),
  );
  const { viewBox, "font-family": family, "font-size": size } = root?.given ?? {};
  const drawn = shapes.map(({ name, given, words }) => SHAPES[name]?.(given, words));
  return html`<svg role="img" aria-label="${label}" viewBox="${viewBox}" font-family="${family}" font-size="${size}">\n${drawn}</svg>`;
}

function attributesOf(markup: string): Attributes {
  return Object.fromEntries(
    Array.from(markup.matchAll(/([\w-]+)="([^"]*)"/gu), ([, name, value]) => [name, value]),
  );
}
