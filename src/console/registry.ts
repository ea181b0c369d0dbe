import type { Action } from "./action.ts";
import type { Page, PageFile } from "./page.ts";
import { alerts } from "./pages/alerts.ts";
import { cohorts } from "./pages/cohorts.ts";
import { overview } from "./pages/overview.ts";
import { products } from "./pages/products.ts";
import { report } from "./pages/report.ts";
import { returnCostLeaderboard } from "./pages/return-cost-leaderboard.ts";
import { returnRateLeaderboard } from "./pages/return-rate-leaderboard.ts";
import { saleEvents } from "./pages/sale-events.ts";
import { data, dataActions } from "./settings/data.ts";
import { watchlist, watchlistActions } from "./settings/watchlist.ts";

/** Every page of figures, in the order of the navigation. */
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
  { name: "report-csv", path: "/export/report.csv", right: "figures.read", endpoint: "export-report" },
];

/** Every page of settings, in the order of the navigation. They need neither data nor active billing. */
export const SETTINGS: readonly Page[] = [watchlist, data];

/** Every form of the pages of a workspace. */
export const ACTIONS: readonly Action[] = [...watchlistActions, ...dataActions];
