import { randomBytes } from "node:crypto";
import { domainToASCII } from "node:url";
import type { Connection, Database, Queryable } from "../store/database.ts";
import { putOwner } from "../store/queries/workspace-member.ts";
import { findPlan } from "../store/queries/plan.ts";
import { findWorkspace, listWorkspaces } from "../store/queries/workspace-directory.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import { insertShop, insertWorkspace } from "../store/queries/workspace-write.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import { requireRight } from "./rights.ts";
import { quoted } from "./input.ts";
import { impossible, invalid } from "./refusal.ts";

export type WorkspaceToCreate = {
  domain: string;
  currency: string;
  /** Default: growth. */
  plan?: string | undefined;
  /** The organization it belongs to; default: one of its own. */
  organization?: string | undefined;
  /** The id of the person who becomes its owner; default: nobody yet. */
  ownerId?: string | undefined;
  /** Whether its overview lists what is left to set up; default: true. */
  hasSetupList?: boolean | undefined;
};

/** A workspace as it is shown: without the key that only the database uses. */
export type ShownWorkspace = Omit<WorkspaceRow, "shop_key">;

/** What a new workspace is known by. */
export type CreatedWorkspace = { organization_id: string; shop_id: string; shop_domain: string };

export const DEFAULT_PLAN = "growth";

const DOMAIN = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/u;
const ORGANIZATION = /^[A-Za-z0-9._:-]{1,128}$/u;

/**
 * Makes a workspace: installing until its first import or sync, billing active. Throws a `Refusal` for a taken domain,
 * an unknown plan or a malformed value.
 */
export async function createWorkspace(
  database: Database,
  actor: Actor,
  request: WorkspaceToCreate,
): Promise<CreatedWorkspace> {
  requireRight(actor, "workspace.create");
  const shopDomain = readDomain(request.domain);
  const currencyCode = readCurrency(request.currency);
  const organizationId = readOrganization(request.organization) ?? `org_${randomBytes(12).toString("hex")}`;
  const planKey = request.plan ?? DEFAULT_PLAN;
  const shopId = `shop_${randomBytes(12).toString("hex")}`;
  await database.transaction(async (connection) => {
    await requirePlan(connection, planKey);
    const shopKey = await insertShop(connection, shopDomain);
    if (shopKey === null) throw impossible(`There is already a workspace for the domain ${shopDomain}.`);
    await insertWorkspace(connection, shopKey, {
      organizationId,
      shopId,
      shopDomain,
      currencyCode,
      planKey,
      isSetupOpen: request.hasSetupList ?? true,
    });
    await recordAction(connection, actor, {
      shopKey,
      action: "workspace.create",
      detail: {
        shop_domain: shopDomain,
        currency_code: currencyCode,
        plan: planKey,
        organization_id: organizationId,
      },
    });
    if (request.ownerId !== undefined) await makeOwner(connection, actor, shopKey, request.ownerId);
  });
  return { organization_id: organizationId, shop_id: shopId, shop_domain: shopDomain };
}

async function makeOwner(
  connection: Connection,
  actor: Actor,
  shopKey: number,
  userId: string,
): Promise<void> {
  await putOwner(connection, shopKey, userId, new Date());
  await recordAction(connection, actor, {
    shopKey,
    action: "member.set",
    detail: { user_id: userId, role: "owner" },
  });
}

/** The workspace of a domain as the operator wrote it; throws a `Refusal` when there is none. */
export async function requireWorkspace(database: Queryable, domain: string): Promise<WorkspaceRow> {
  const shopDomain = readDomain(domain);
  const workspace = await findWorkspace(database, shopDomain);
  if (workspace !== null) return workspace;
  throw impossible(
    `There is no workspace for the domain ${shopDomain}; "workspace list" shows those there are.`,
  );
}

/** Every workspace, by domain. */
export async function showWorkspaces(database: Queryable): Promise<ShownWorkspace[]> {
  return (await listWorkspaces(database)).map(shownWorkspace);
}

export function shownWorkspace(workspace: WorkspaceRow): ShownWorkspace {
  const shown: ShownWorkspace & { shop_key?: number } = { ...workspace };
  delete shown.shop_key;
  return shown;
}

/** Throws a `Refusal` when there is no such plan. */
export async function requirePlan(database: Queryable, planKey: string): Promise<void> {
  if ((await findPlan(database, planKey)) !== null) return;
  throw impossible(`There is no plan ${quoted(planKey)}; "plan list" shows the existing ones.`);
}

/** A host name in lower case; names beyond ASCII in their DNS form. */
function readDomain(value: string): string {
  const text = value.trim().toLowerCase();
  const domain = /^[\u0000-\u007f]*$/u.test(text) ? text : domainToASCII(text);
  if (!DOMAIN.test(domain)) throw invalid("The domain must be a host name, such as shop.example.com.");
  return domain;
}

function readCurrency(value: string): string {
  const currencyCode = value.trim().toUpperCase();
  if (Intl.supportedValuesOf("currency").includes(currencyCode)) return currencyCode;
  throw invalid("The currency must be a code of ISO 4217, such as GBP, EUR or USD.");
}

function readOrganization(value: string | undefined): string | null {
  if (value === undefined || ORGANIZATION.test(value)) return value ?? null;
  throw invalid("The organization must be 1 to 128 letters, digits, dots, colons, hyphens or underscores.");
}
