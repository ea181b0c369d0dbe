import { domainToASCII } from "node:url";
import type { Queryable } from "../../store/database.ts";
import type { DirectoryRow } from "../../store/queries/workspace-directory.ts";
import { defineList, defineAction, type ActionCaller, type List } from "../action.ts";
import type { Actor } from "../actor.ts";
import { anyText, oneOf, optional, own } from "../field.ts";
import { impossible, invalid } from "../refusal.ts";
import { requireRight } from "../right.ts";
import { findWorkspace, listWorkspaces, closeSetupList, readSetup } from "./queries.ts";
import type { ListedWorkspace, Setup } from "./queries.ts";

/** A workspace as it is shown: without the key that only the database uses. */
export type ShownWorkspace = Omit<DirectoryRow, "shop_key">;

const DOMAIN = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/u;

/** Choices that people read as they are stored. */
export const words = <const Word extends string>(...each: readonly Word[]) =>
  each.map((word) => [word, word] as const);

const FILTERS = {
  q: optional(
    own("Domain", (_subject, typed) => typed.toLowerCase(), {
      option: "search",
      placeholder: "text",
      hint: "only those whose domain contains this",
    }),
  ),
  plan: optional(anyText("Plan", { placeholder: "name", hint: "only of this plan" })),
  billing: optional(
    oneOf("Billing", words("active", "inactive"), {
      placeholder: "status",
      hint: "only those whose billing is active or inactive",
    }),
  ),
  readiness: optional(
    oneOf("Readiness", words("ready", "installing", "backfilling", "reconnecting", "moving", "erasing"), {
      placeholder: "state",
      hint: "only those that are ready, installing, reconnecting, backfilling or erasing",
    }),
  ),
};

/** By heading, what lists and pages show of a workspace. */
export const WORKSPACE_COLUMNS = {
  domain: "shop_domain",
  currency: "currency_code",
  plan: ({ plan, requested_plan: asked }) => (asked === null ? plan : `${plan}, asks for ${asked}`),
  billing: "billing",
  readiness: "readiness",
  "data as of": "data_as_of",
} satisfies List<ShownWorkspace>["columns"];

/** The workspaces, by domain. */
export const workspaceList = defineList<Omit<ListedWorkspace, "shop_key">, ActionCaller, typeof FILTERS>({
  name: "workspaces.read",
  about: "Show the workspaces.",
  past: "Read the list of workspaces",
  least: "operator",
  hasNoWorkspace: true,
  columns: WORKSPACE_COLUMNS,
  input: FILTERS,
  pages: {
    cursor: ({ shop_domain: domain }) => domain,
    after: ["domain", "the page after a workspace"],
    defaultLimit: 100,
    most: 10_000,
  },
  rows: async ({ database }, { q: search, ...asked }, page) =>
    (await listWorkspaces(database, { search, ...asked, ...page })).map(shownWorkspace),
});

/** The same, with how each is used and fed. */
export const workspaceOverview: typeof workspaceList = {
  ...workspaceList,
  columns: {
    ...WORKSPACE_COLUMNS,
    "last sync": "last_synced_at",
    "failing sources": "failing",
    "requests in 30 days": "requests",
  },
};

/** The workspace of a domain as somebody wrote it; throws a `Refusal` when there is none. */
export async function requireWorkspace(database: Queryable, domain: string): Promise<DirectoryRow> {
  const shopDomain = readDomain("The domain", domain);
  const workspace = await findWorkspace(database, shopDomain);
  if (workspace !== null) return workspace;
  throw impossible(
    `There is no workspace for the domain ${shopDomain}; ./returns workspace list shows all workspaces.`,
  );
}

export function shownWorkspace<Row extends DirectoryRow>({
  shop_key: _shopKey,
  ...shown
}: Row): Omit<Row, "shop_key"> {
  return shown;
}

/** A host name in the form of `domainOf`. */
export function readDomain(subject: string, text: string): string {
  const domain = domainOf(text);
  if (!DOMAIN.test(domain)) throw invalid(`${subject} must be a host name, such as shop.example.com.`);
  return domain;
}

/** A typed domain in lower case; names beyond ASCII in their DNS form. */
export function domainOf(typed: string): string {
  const text = typed.trim().toLowerCase();
  return /^[\u0000-\u007f]*$/u.test(text) ? text : domainToASCII(text);
}

/** Hides the checklist for every member. */
export const closeSetup = defineAction({
  name: "setup.close",
  title: "Dismiss setup checklist",
  past: "Dismissed the setup checklist",
  least: "admin",
  input: {},
  run: async ({ connection, shopKey, domain }) => {
    await closeSetupList(connection, shopKey);
    return {
      result: { shop_domain: domain },
      done: "The setup checklist is dismissed. Each of its steps is in the settings.",
      audit: { detail: {} },
    };
  },
});

/**
 * The remaining setup steps; null: none, and the list is closed, so that later pages skip the query. One statement until then.
 */
export async function showSetup(database: Queryable, actor: Actor, shopKey: number): Promise<Setup | null> {
  requireRight(actor, closeSetup);
  const setup = await readSetup(database, shopKey);
  if (setup === null || Object.values(setup).includes(false)) return setup;
  await closeSetupList(database, shopKey);
  return null;
}
