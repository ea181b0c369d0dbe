import { randomBytes } from "node:crypto";
import { isoInstant } from "../../console/format.ts";
import { DEMO_STORE } from "../../demo/demo-store-facts.ts";
import { lockWorkspace, WorkspaceGone } from "../../store/queries/import-stage.ts";
import { wakeWorkspace } from "../../store/queries/run-queue.ts";
import type { DirectoryRow } from "../../store/queries/workspace-directory.ts";
import {
  askForErasure,
  eraseWorkspace as eraseRows,
  takeErasureBack,
} from "../../store/queries/workspace-erase.ts";
import { lockMembers } from "../../store/queries/workspace-member.ts";
import { putOwner } from "../members/queries.ts";
import { reserveDomain, insertWorkspace } from "./queries.ts";
import { defineAction, type ActionCaller, type ActionContext, type Done } from "../action.ts";
import { recordAction } from "../audit/record.ts";
import { anyText, omittable, own, typedName } from "../field.ts";
import { DEFAULT_PLAN, requirePlan } from "../plan/actions.ts";
import { impossible, invalid } from "../refusal.ts";
import { exportWorkspace } from "./export.ts";
import { nameWorkspace, setWindows, setWorkspace } from "./settings.ts";
import { moveWorkspace } from "./move.ts";
import { closeSetup, domainOf, readDomain, shownWorkspace } from "./workspace.ts";

/** How long an erasure can be canceled. */
export const ERASE_DAYS = 7;
const DAY_MS = 86_400_000;

const SEQUENCE_EXHAUSTED = "2200H";
const ORGANIZATION = /^[A-Za-z0-9._:-]{1,128}$/u;

/**
 * A workspace that is installing until its first import or sync, with active billing. If it is created on a page, its creator
 * becomes owner; created by a command, it has no owner yet.
 */
export const createWorkspace = defineAction({
  name: "workspace.create",
  title: "Create workspace",
  about: "Create a workspace; it serves answers after its first import.",
  past: "Created the workspace",
  least: "operator",
  hasNoWorkspace: true,
  input: {
    domain: own("The domain", readDomain, {
      hint: "the store's host name, unique in this installation",
      placeholder: "domain",
    }),
    currency: own("The currency", readCurrency, {
      hint: "the store's currency (ISO 4217)",
      placeholder: "code",
    }),
    plan: omittable(
      anyText("Plan", {
        hint: "a plan of `plan list` (default: growth)",
        placeholder: "plan",
      }),
    ),
    organization: omittable(
      own("The organization", readOrganization, {
        hint: "the organization it belongs to (default: one of its own)",
        placeholder: "id",
      }),
    ),
  },
  run: async ({ connection, actor, now }: ActionContext<ActionCaller>, input) => {
    const { domain, currency, plan = DEFAULT_PLAN, organization = newId("org") } = input;
    const shopId = newId("shop");
    await requirePlan(connection, plan);
    const shopKey = await reserveDomain(connection, domain, now).catch((error: unknown) => {
      throw (error as { code?: string }).code === SEQUENCE_EXHAUSTED
        ? impossible("SHOP_KEY_RANGE has no number left for another workspace.")
        : error;
    });
    if (shopKey === null) throw impossible(`There is already a workspace for the domain ${domain}.`);
    await insertWorkspace(connection, shopKey, {
      organizationId: organization,
      shopId,
      shopDomain: domain,
      currencyCode: currency,
      planKey: plan,
      isSetupOpen: domain !== DEMO_STORE.domain,
    });
    if (actor.session !== null) {
      const { userId } = actor.session;
      await putOwner(connection, shopKey, userId, now);
      const detail = { user_id: userId, role: "owner" };
      await recordAction(connection, actor, { shopKey, action: "member.set", detail });
    }
    return {
      result: { organization_id: organization, shop_id: shopId, shop_domain: domain },
      done: `Created the workspace ${domain}. Next: connect its store or import its data, then create a token.`,
      audit: {
        shopKey,
        detail: { shop_domain: domain, currency_code: currency, plan, organization_id: organization },
      },
    };
  },
});

/**
 * Stops serving a workspace from the next request on, and schedules its erasure after `ERASE_DAYS`. A person types its domain, so
 * that nobody erases the wrong one; a command asks.
 */
export const eraseWorkspace = defineAction({
  name: "workspace.erase",
  title: "Erase this workspace",
  about: `Stop serving a workspace and erase it in ${ERASE_DAYS} days, unless \`workspace keep\` cancels that.`,
  past: "Requested the erasure of the workspace",
  least: "owner",
  proof: true,
  input: { domain: typedName },
  confirm: (_input, { workspace }) =>
    `The service stops serving ${workspace.shop_domain} at once. Erase it in ${ERASE_DAYS} days?`,
  run: async (context: ActionContext<OfWorkspace>, { domain: typed }) => {
    const { connection, shopKey, domain, actor, now } = context;
    const isMeant = typed === null ? actor.session === null : domainOf(typed) === domain;
    if (!isMeant) throw invalid(`Type the domain of this workspace, ${domain}, to have it erased.`, "domain");
    const eraseAfter = new Date(now.getTime() + ERASE_DAYS * DAY_MS);
    if (!(await askForErasure(connection, shopKey, eraseAfter))) {
      throw impossible(`The erasure of ${domain} has already been requested.`);
    }
    return decided(context, "workspace.erase", {
      result: { shop_domain: domain, erase_after: eraseAfter },
      before: null,
      done: `${domain} is no longer served. It will be erased after ${isoInstant(eraseAfter)}.`,
    });
  },
});

/** Cancels an erasure and restores the workspace. */
export const keepWorkspace = defineAction({
  name: "workspace.keep",
  title: "Keep this workspace",
  about: "Cancel the erasure of a workspace: it is served as before.",
  past: "Canceled the erasure of the workspace",
  least: "owner",
  input: {},
  run: async (context: ActionContext<OfWorkspace>) => {
    const { connection, shopKey, domain } = context;
    if (!(await takeErasureBack(connection, shopKey))) {
      throw impossible(`No erasure of ${domain} is scheduled: there is nothing to cancel.`);
    }
    await wakeWorkspace(connection, shopKey);
    return decided(context, "workspace.keep", {
      result: { shop_domain: domain, erase_after: null },
      before: context.workspace.erase_after,
      done: `The erasure is canceled: ${domain} is served as before.`,
    });
  },
});

/** Deletes a workspace with all stored data, after a run that is writing it. The installation keeps a record of the deletion. */
export const deleteWorkspace = defineAction({
  name: "workspace.delete",
  title: "Delete workspace",
  about: "Delete a workspace with all its data; this cannot be undone.",
  past: "Deleted the workspace",
  least: "operator",
  takesMoving: true,
  input: {},
  confirm: (_input, { workspace }) =>
    `All data, tokens, connections and history of ${workspace.shop_domain} are permanently deleted. Delete it?`,
  run: async ({ connection, workspace, shopKey, domain }: ActionContext<OfWorkspace>) => {
    await lockWorkspace(connection, shopKey).catch((error: unknown) => {
      throw error instanceof WorkspaceGone
        ? impossible(`The workspace ${domain} has already been deleted.`)
        : error;
    });
    await lockMembers(connection, shopKey);
    await eraseRows(connection, shopKey);
    return {
      result: { shop_domain: domain },
      done: `The workspace ${domain} is deleted.`,
      audit: { shopKey: null, detail: { shop_domain: domain }, before: shownWorkspace(workspace) },
    };
  },
});

export const WORKSPACE_ACTIONS = [
  setWindows,
  setWorkspace,
  nameWorkspace,
  closeSetup,
  createWorkspace,
  exportWorkspace,
  eraseWorkspace,
  keepWorkspace,
  deleteWorkspace,
  moveWorkspace,
] as const;

/** Who acts on a workspace without the installation's keys. */
type OfWorkspace = ActionCaller & { workspace: DirectoryRow };

/** The decision about a workspace; `erase_after` null: it is kept. */
type Erasure = { shop_domain: string; erase_after: Date | null };

/** The workspace's own audit goes with it; the installation's, which is written here, stays. */
async function decided<Decided extends Erasure>(
  { connection, actor }: ActionContext<OfWorkspace>,
  action: "workspace.erase" | "workspace.keep",
  { result, before, done }: { result: Decided; before: Date | null; done: string },
): Promise<Done<Decided>> {
  const audit = { detail: result, before: { erase_after: before } };
  await recordAction(connection, actor, { shopKey: null, action, ...audit });
  return { result, done, audit };
}

function newId(kind: "org" | "shop"): string {
  return `${kind}_${randomBytes(12).toString("hex")}`;
}

/** Codes with their names, for people to choose from. */
export function currencyOptions(): [code: string, text: string][] {
  const names = new Intl.DisplayNames("en", { type: "currency" });
  return Intl.supportedValuesOf("currency").map((code) => [code, `${code} – ${names.of(code) ?? code}`]);
}

function readCurrency(subject: string, text: string): string {
  const currencyCode = text.trim().toUpperCase();
  if (Intl.supportedValuesOf("currency").includes(currencyCode)) return currencyCode;
  throw invalid(`${subject} must be a code of ISO 4217, such as GBP, EUR or USD.`);
}

function readOrganization(subject: string, text: string): string {
  if (ORGANIZATION.test(text)) return text;
  throw invalid(`${subject} must be 1 to 128 letters, digits, dots, colons, hyphens or underscores.`);
}
