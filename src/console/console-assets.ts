import { readAsset } from "./assets.ts";
import type { Asset } from "./assets.ts";

const STYLE_FILES = ["tokens.css", "console.css", "pages.css", "charts.css", "print.css"];
/** Of the pages of workspaces. */
const PAGE_SCRIPTS = ["readout.js", "copy.js"];

/** What the pages load. */
type ConsoleAssets = {
  style: Asset;
  icon: Asset;
  pageScripts: readonly Asset[];
  /** Of the page where links lead. */
  enterScript: Asset;
  /** Each of them once, to be served. */
  all: readonly Asset[];
};

/** Read once, when the process starts. */
export const CONSOLE_ASSETS = readConsoleAssets();

function readConsoleAssets(): ConsoleAssets {
  const style = readAsset("console.css", STYLE_FILES);
  const icon = readAsset("icon.svg");
  const pageScripts = PAGE_SCRIPTS.map((name) => readAsset(name));
  const enterScript = readAsset("enter.js");
  return { style, icon, pageScripts, enterScript, all: [style, icon, ...pageScripts, enterScript] };
}
