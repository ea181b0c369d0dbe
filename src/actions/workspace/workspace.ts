import { domainToASCII } from "node:url";
import { impossible, invalid } from "../refusal.ts";
import type { Queryable } from "../../store/database.ts";
import { ANY_WORKSPACE, findWorkspace, listWorkspaces } from "./queries.ts";
import type { DirectoryRow } from "../../store/queries/workspace-directory.ts";
import type { WorkspaceFilter } from "./queries.ts";
import { defineList } from "../action.ts";
import type { ActionCaller } from "../action.ts";

/** A workspace as it is shown: without the key that only the database uses. */
export type ShownWorkspace = Omit<DirectoryRow, "shop_key">;

const DOMAIN = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/u;

/** A page of the workspaces, by domain. */
export const workspaceList = defineList<ShownWorkspace, ActionCaller & { filter?: WorkspaceFilter }>({
  name: "workspaces.read",
  about: "Show the workspaces.",
  past: "Read the list of workspaces",
  least: "operator",
  hasNoWorkspace: true,
  columns: {
    domain: ({ shop_domain: domain }) => domain,
    currency: ({ currency_code: currency }) => currency,
    plan: ({ plan, requested_plan: requested }) =>
      requested === null ? plan : `${plan}, asks for ${requested}`,
    billing: ({ billing }) => billing,
    readiness: ({ readiness }) => readiness,
    "data as of": ({ data_as_of: asOf }) => asOf,
  },
  rows: async ({ database, filter = ANY_WORKSPACE }) =>
    (await listWorkspaces(database, filter)).map(shownWorkspace),
});

/** The workspace of a domain as somebody wrote it; throws a `Refusal` when there is none. */
export async function requireWorkspace(database: Queryable, domain: string): Promise<DirectoryRow> {
  const shopDomain = readDomain("The domain", domain);
  const workspace = await findWorkspace(database, shopDomain);
  if (workspace !== null) return workspace;
  throw impossible(
    `There is no workspace for the domain ${shopDomain}; "workspace list" shows the existing ones.`,
  );
}

export function shownWorkspace(workspace: DirectoryRow): ShownWorkspace {
  const shown: ShownWorkspace & { shop_key?: number } = { ...workspace };
  delete shown.shop_key;
  return shown;
}

/** A host name in the form of `domainOf`. */
export function readDomain(subject: string, text: string): string {
  const domain = domainOf(text);
  if (!DOMAIN.test(domain)) throw invalid(`${subject} must be a host name, such as shop.example.com.`);
  return domain;
}

/** What was typed as a domain, in lower case; names beyond ASCII in their DNS form. */
export function domainOf(typed: string): string {
  const text = typed.trim().toLowerCase();
  return /^[\u0000-\u007f]*$/u.test(text) ? text : domainToASCII(text);
}
