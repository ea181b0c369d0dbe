import { connectPage } from "../actions/apps/page.ts";
import { auditPage } from "../actions/audit/page.ts";
import { notificationsPage } from "../actions/alert-endpoints/page.ts";
import { MEMBER_PAGES } from "../actions/members/page.ts";
import { noticesPage } from "../actions/notices/page.ts";
import { planPage } from "../actions/plan/page.ts";
import { readFigures } from "../actions/right.ts";
import { saleEventSettings } from "../actions/sale-events/page.ts";
import { SOURCE_PAGES } from "../actions/sources/page.ts";
import { TOKEN_PAGES } from "../actions/tokens/page.ts";
import { UPLOAD_PAGES } from "../actions/uploads/page.ts";
import { usage } from "../actions/usage/page.ts";
import { watchlist } from "../actions/watchlist/page.ts";
import { orderRules, reasons, windows } from "../actions/workspace/counting-pages.ts";
import { dataPage, settingsOverview, type SettingsGroup } from "../actions/workspace/page.ts";
import type { FormAction, Page, PageFile } from "./page.ts";
import { alerts } from "./pages/alerts.ts";
import { cohorts } from "./pages/cohorts.ts";
import { overview } from "./pages/overview.ts";
import { products } from "./pages/products.ts";
import { report } from "./pages/report.ts";
import { saleEvents } from "./pages/sale-events.ts";

/** Every page of figures, in the order of the navigation. */
export const PAGES: readonly Page[] = [overview, products, report, cohorts, alerts, saleEvents];

/** Where pages of earlier versions are now: their path, and what their view is there. */
export const MOVED: ReadonlyMap<string, Readonly<Record<string, string>>> = new Map([
  ["/leaderboards/return-rate", { breakdownBy: "sku", breakdownOrder: "return_rate" }],
  ["/leaderboards/return-cost", { breakdownBy: "sku", breakdownOrder: "returns_cost" }],
]);

export const FILES: readonly PageFile[] = [
  { name: "report-csv", path: "/export/report.csv", right: readFigures, endpoint: "export-report" },
];

/** The pages below the overview of settings, in the order of the navigation. */
const SETTINGS_GROUPS: readonly SettingsGroup[] = [
  {
    title: "Data",
    pages: [...SOURCE_PAGES, ...UPLOAD_PAGES, windows, orderRules, reasons],
  },
  { title: "Alerts", pages: [watchlist, notificationsPage, saleEventSettings, noticesPage] },
  { title: "People", pages: MEMBER_PAGES },
  { title: "Developers", pages: [connectPage, ...TOKEN_PAGES, usage] },
  { title: "Workspace", pages: [dataPage, planPage, auditPage] },
];

export const SETTINGS_PAGES: readonly Page[] = SETTINGS_GROUPS.flatMap(({ pages }) => pages);

export const SETTINGS_OVERVIEW = settingsOverview(SETTINGS_GROUPS);

/** Every page of settings. They need neither data nor active billing. */
export const SETTINGS: readonly Page[] = [SETTINGS_OVERVIEW, ...SETTINGS_PAGES];

/** Everything that a GET can request under a workspace's address. */
export const READABLE: readonly (Page | PageFile)[] = [...FILES, ...PAGES, ...SETTINGS];

/** Every form of the pages of a workspace. */
export const ACTIONS: readonly FormAction[] = [...PAGES, ...SETTINGS].flatMap(({ forms }) => forms);
