import { join } from "node:path";
import { readAsset } from "../http/assets.ts";
import type { Asset } from "../http/assets.ts";

const PLACE = { folder: join(import.meta.dirname, "assets"), under: "/assets" };

const STYLE_FILES = ["tokens.css", "console.css", "forms.css", "pages.css", "charts.css", "print.css"];
/** Of the pages of workspaces, joined into one module, so that a first visit needs one request less: no name twice. */
const PAGE_SCRIPT_FILES = ["bar.js", "readout.js", "progress.js", "upload.js", "keep.js"];

/** Of the sign-in pages and the account page. */
const ENTER_SCRIPT_FILES = ["enter.js", "passkey.js"];

/** What the pages load. */
type ConsoleAssets = {
  style: Asset;
  icon: Asset;
  /** Of the pages of workspaces. */
  pageScript: Asset;
  /** Of the sign-in pages and the account page. */
  enterScript: Asset;
  /** Each of them once, to be served. */
  all: readonly Asset[];
};

/** Read once, when the process starts. */
export const CONSOLE_ASSETS = readConsoleAssets();

function readConsoleAssets(): ConsoleAssets {
  const style = readAsset(PLACE, "console.css", STYLE_FILES);
  const icon = readAsset(PLACE, "icon.svg");
  const pageScript = readAsset(PLACE, "page.js", PAGE_SCRIPT_FILES);
  const enterScript = readAsset(PLACE, "enter.js", ENTER_SCRIPT_FILES);
  return { style, icon, pageScript, enterScript, all: [style, icon, pageScript, enterScript] };
}
