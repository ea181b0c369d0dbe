import type { Page, PageFile } from "./page.ts";
import { overview } from "./pages/overview.ts";
import { report } from "./pages/report.ts";

/** Every page of a workspace, in the order of the navigation. */
export const PAGES: readonly Page[] = [overview, report];

/** Files of a workspace. */
export const FILES: readonly PageFile[] = [
  { name: "report-csv", path: "/export/report.csv", role: "viewer", endpoint: "export-report" },
];
