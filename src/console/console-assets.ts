import { readAsset } from "./assets.ts";
import type { Asset } from "./assets.ts";
import type { LayoutAssets } from "./layout.ts";

const STYLE_FILES = ["tokens.css", "console.css", "charts.css"];
const SCRIPTS = ["readout.js", "copy.js"];

/** What the pages load; read once at start. */
export function readConsoleAssets(): LayoutAssets & { all: readonly Asset[] } {
  const style = readAsset("console.css", STYLE_FILES);
  const scripts = SCRIPTS.map((name) => readAsset(name));
  const icon = readAsset("icon.svg");
  return { style, scripts, icon, all: [style, icon, ...scripts] };
}
