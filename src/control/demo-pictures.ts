import { DEMO_STORE } from "../demo/demo-store-facts.ts";
import { PICTURES_PATH, drawPictures } from "../demo/pictures.ts";
import type { Html } from "../lib/html.ts";

const OWN_ADDRESS = `https://${DEMO_STORE.domain}${PICTURES_PATH}`;

/** The route of all of them. */
export const DEMO_PICTURES_ROUTE = `${PICTURES_PATH}*`;

/** Pictures of the demo store's products, by the path at which this service has them. */
export function demoPictures(): ReadonlyMap<string, Html> {
  return new Map([...drawPictures()].map(([name, picture]) => [`${PICTURES_PATH}${name}.svg`, picture]));
}

/** The path at which this service has an image of the demo store; null = it is another store's image. */
export function demoPicturePath(imageUrl: string): string | null {
  return imageUrl.startsWith(OWN_ADDRESS) ? imageUrl.slice(`https://${DEMO_STORE.domain}`.length) : null;
}
