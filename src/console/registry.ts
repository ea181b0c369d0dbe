import type { Action } from "./action.ts";
import type { Page, PageFile } from "./page.ts";
import { alerts } from "./pages/alerts.ts";
import { cohorts } from "./pages/cohorts.ts";
import { overview, setupActions } from "./pages/overview.ts";
import { products } from "./pages/products.ts";
import { report } from "./pages/report.ts";
import { returnCostLeaderboard } from "./pages/return-cost-leaderboard.ts";
import { returnRateLeaderboard } from "./pages/return-rate-leaderboard.ts";
import { saleEvents } from "./pages/sale-events.ts";
import { audit, auditActions } from "./settings/audit.ts";
import { importActions, importPage, imports } from "./settings/imports.ts";
import { member, memberActions } from "./settings/member.ts";
import { members, membersActions } from "./settings/members.ts";
import { notices, noticesActions } from "./settings/notices.ts";
import { notifications, notificationsActions } from "./settings/notifications.ts";
import { settingsOverview } from "./settings/overview.ts";
import { newToken, tokenCreate } from "./settings/token-new.ts";
import { tokenActions, tokenPage } from "./settings/token.ts";
import { tokens } from "./settings/tokens.ts";
import { usage } from "./settings/usage.ts";
import { plan, planActions } from "./settings/plan.ts";
import { saleEventActions, saleEventSettings } from "./settings/sale-events.ts";
import { connectActions, sourceConnect } from "./settings/source-connect.ts";
import { sourceProgress } from "./settings/source-progress.ts";
import { source, sourceActions } from "./settings/source.ts";
import { sources } from "./settings/sources.ts";
import { data, dataActions } from "./settings/data.ts";
import { watchlist, watchlistActions } from "./settings/watchlist.ts";
import { windows, windowsActions } from "./settings/windows.ts";

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

/** The pages below the overview of settings, in the order of the navigation. */
export const SETTINGS_PAGES: readonly Page[] = [
  windows,
  tokens,
  newToken,
  tokenPage,
  usage,
  plan,
  members,
  member,
  sources,
  source,
  sourceConnect,
  sourceProgress,
  imports,
  importPage,
  watchlist,
  saleEventSettings,
  data,
  notifications,
  notices,
  audit,
];

export const SETTINGS_OVERVIEW = settingsOverview(SETTINGS_PAGES);

/** Every page of settings. They need neither data nor active billing. */
export const SETTINGS: readonly Page[] = [SETTINGS_OVERVIEW, ...SETTINGS_PAGES];

/** Everything under the address of a workspace that a GET asks for. */
export const READABLE: readonly (Page | PageFile)[] = [...FILES, ...PAGES, ...SETTINGS];

/** Every form of the pages of a workspace. */
export const ACTIONS: readonly Action[] = [
  ...setupActions,
  ...windowsActions,
  tokenCreate,
  ...tokenActions,
  ...planActions,
  ...importActions,
  ...membersActions,
  ...memberActions,
  ...sourceActions,
  ...connectActions,
  ...watchlistActions,
  ...saleEventActions,
  ...dataActions,
  ...notificationsActions,
  ...noticesActions,
  ...auditActions,
];
