import { ACCOUNT_ACTIONS } from "./account/actions.ts";
import { ENDPOINT_ACTIONS, endpointList } from "./alert-endpoints/actions.ts";
import { connectApp } from "./apps/actions.ts";
import { DIGEST_ACTIONS } from "./digest/actions.ts";
import { INSTALLATION_ACTIONS } from "./installation/actions.ts";
import { changeOwners, MEMBER_ACTIONS, memberList } from "./members/actions.ts";
import { USER_ACTIONS, userList } from "./people/actions.ts";
import { PLAN_ACTIONS, planList } from "./plan/actions.ts";
import { readAudit, readAuditOfAll, readFigures, readSettings, readSources } from "./right.ts";
import type { NamedRight, Right } from "./right.ts";
import { SALE_EVENT_ACTIONS, saleEventList } from "./sale-events/actions.ts";
import { SOURCE_ACTIONS } from "./sources/actions.ts";
import { connectSource } from "./sources/connect.ts";
import { linkSource } from "./sources/install.ts";
import { TOKEN_ACTIONS, tokenList } from "./tokens/actions.ts";
import { importData, UPLOAD_ACTIONS } from "./uploads/actions.ts";
import { usageRead } from "./usage/usage.ts";
import { watchedList, WATCHLIST_ACTIONS } from "./watchlist/actions.ts";
import { WORKSPACE_ACTIONS } from "./workspace/actions.ts";
import { setRules } from "./workspace/order-rules.ts";
import { setReasons } from "./workspace/settings.ts";
import { workspaceList } from "./workspace/workspace.ts";

/** Every list for people and programs, and rights required in addition to an action's own. */
export const LISTS: readonly NamedRight[] = [
  readFigures,
  readSettings,
  readSources,
  importData,
  readAudit,
  readAuditOfAll,
  tokenList,
  memberList,
  changeOwners,
  userList,
  endpointList,
  usageRead,
  planList,
  watchedList,
  saleEventList,
  workspaceList,
];

/** Everything that changes something. */
export const ACTIONS: readonly NamedRight[] = [
  ...TOKEN_ACTIONS,
  connectApp,
  ...MEMBER_ACTIONS,
  ...USER_ACTIONS,
  ...ENDPOINT_ACTIONS,
  ...DIGEST_ACTIONS,
  ...UPLOAD_ACTIONS,
  connectSource,
  linkSource,
  ...SOURCE_ACTIONS,
  ...ACCOUNT_ACTIONS,
  ...PLAN_ACTIONS,
  ...WATCHLIST_ACTIONS,
  ...SALE_EVENT_ACTIONS,
  ...WORKSPACE_ACTIONS,
  ...INSTALLATION_ACTIONS,
  setRules,
  setReasons,
];

/** Who may do what, of every page and action of the console and every command, by name. */
export const ALL_RIGHTS: Readonly<Record<string, Right>> = Object.fromEntries(
  [...LISTS, ...ACTIONS].map((right) => [right.name, right]),
);
