import { auditFiles, auditPage } from "../actions/audit/page.ts";
import { ENDPOINT_FORMS, ENDPOINT_PAGES } from "../actions/alert-endpoints/page.ts";
import { MEMBER_FORMS, MEMBER_PAGES } from "../actions/members/page.ts";
import { NOTICE_FORMS, NOTICE_PAGES } from "../actions/notices/page.ts";
import { PLAN_FORMS, PLAN_PAGES } from "../actions/plan/page.ts";
import { readFigures } from "../actions/right.ts";
import { SALE_EVENT_FORMS, SALE_EVENT_PAGES } from "../actions/sale-events/page.ts";
import { CONNECT_FORMS, CONNECT_PAGES } from "../actions/sources/connect-page.ts";
import { SOURCE_FORMS, SOURCE_PAGES } from "../actions/sources/page.ts";
import { TOKEN_FORMS, TOKEN_PAGES } from "../actions/tokens/page.ts";
import { UPLOAD_FORMS, UPLOAD_PAGES } from "../actions/uploads/page.ts";
import { usage } from "../actions/usage/page.ts";
import { WATCHLIST_FORMS, WATCHLIST_PAGES } from "../actions/watchlist/page.ts";
import {
  REASON_FORMS,
  REASON_PAGES,
  RULE_FORMS,
  RULE_PAGES,
  WINDOW_FORMS,
  WINDOW_PAGES,
} from "../actions/workspace/counting-pages.ts";
import { DATA_FORMS, DATA_PAGES, settingsOverview, type SettingsGroup } from "../actions/workspace/page.ts";
import type { FormAction } from "./action-form.ts";
import type { Page, PageFile } from "./page.ts";
import { alerts } from "./pages/alerts.ts";
import { cohorts } from "./pages/cohorts.ts";
import { overview, SETUP_FORMS } from "./pages/overview.ts";
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
    pages: [
      ...SOURCE_PAGES,
      ...CONNECT_PAGES,
      ...UPLOAD_PAGES,
      ...WINDOW_PAGES,
      ...RULE_PAGES,
      ...REASON_PAGES,
    ],
  },
  { title: "Alerts", pages: [...WATCHLIST_PAGES, ...ENDPOINT_PAGES, ...SALE_EVENT_PAGES, ...NOTICE_PAGES] },
  { title: "People", pages: MEMBER_PAGES },
  { title: "Developers", pages: [...TOKEN_PAGES, usage] },
  { title: "Workspace", pages: [...DATA_PAGES, ...PLAN_PAGES, auditPage] },
];

export const SETTINGS_PAGES: readonly Page[] = SETTINGS_GROUPS.flatMap(({ pages }) => pages);

export const SETTINGS_OVERVIEW = settingsOverview(SETTINGS_GROUPS);

/** Every page of settings. They need neither data nor active billing. */
export const SETTINGS: readonly Page[] = [SETTINGS_OVERVIEW, ...SETTINGS_PAGES];

/** Everything that a GET can request under a workspace's address. */
export const READABLE: readonly (Page | PageFile)[] = [...FILES, ...PAGES, ...SETTINGS];

/** Every form of the pages of a workspace. */
export const ACTIONS: readonly FormAction[] = [
  ...SETUP_FORMS,
  ...WINDOW_FORMS,
  ...RULE_FORMS,
  ...REASON_FORMS,
  ...TOKEN_FORMS,
  ...PLAN_FORMS,
  ...UPLOAD_FORMS,
  ...MEMBER_FORMS,
  ...SOURCE_FORMS,
  ...CONNECT_FORMS,
  ...WATCHLIST_FORMS,
  ...SALE_EVENT_FORMS,
  ...DATA_FORMS,
  ...ENDPOINT_FORMS,
  ...NOTICE_FORMS,
  ...auditFiles,
];
