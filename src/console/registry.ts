import type { Page, PageFile } from "./page.ts";
import { alerts } from "./pages/alerts.ts";
import { cohorts } from "./pages/cohorts.ts";
import { overview } from "./pages/overview.ts";
import { products } from "./pages/products.ts";
import { report } from "./pages/report.ts";
import { returnCostLeaderboard } from "./pages/return-cost-leaderboard.ts";
import { returnRateLeaderboard } from "./pages/return-rate-leaderboard.ts";
import { saleEvents } from "./pages/sale-events.ts";

/** Every page of a workspace, in the order of the navigation. */
export const PAGES: readonly Page[] = [
  overview,
  report,
  cohorts,
  returnRateLeaderboard,
  returnCostLeaderboard,
  products,
  alerts,
  saleEvents,
];

/** Files of a workspace. */
export const FILES: readonly PageFile[] = [
  { name: "report-csv", path: "/export/report.csv", role: "viewer", endpoint: "export-report" },
];
