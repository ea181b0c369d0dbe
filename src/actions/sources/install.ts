import { ROLES } from "../../contract/role.ts";
import { userName } from "../../lib/user-name.ts";
import type { Database } from "../../store/database.ts";
import { listAccountWorkspaces } from "../../store/directory.ts";
import type { AccountRow } from "../../store/queries/data-source.ts";
import { forgetDelivery, hasDelivery, recordDelivery } from "../../store/queries/webhook-delivery.ts";
import { findWorkspace } from "../workspace/queries.ts";
import type { DirectoryRow } from "../../store/queries/workspace-directory.ts";
import { listMembersByRole } from "../../store/queries/workspace-member.ts";
import { SourceFailed, SourceRefused } from "../../sync/connector.ts";
import { isShopHost } from "../../sync/connectors/shopify/api/hosts.ts";
import { SHOPIFY_SOURCE } from "../../sync/connectors/shopify/connector.ts";
import {
  authorizeAddress,
  isFreshQuery,
  isSignedQuery,
  openInstallation,
  sealInstallation,
} from "../../sync/connectors/shopify/install/oauth.ts";
import type { OpenedInstallation, PendingInstall } from "../../sync/connectors/shopify/install/oauth.ts";
import { exchangeCode, type App } from "../../sync/connectors/shopify/install/access.ts";
import { SHOPIFY } from "../../sync/connectors/shopify/settings.ts";
import { checkInstallation } from "../../sync/connectors/shopify/webhooks/receive.ts";
import { defineAction, runAction, ShownSecret, type ActionContext, type ActionTools } from "../action.ts";
import type { Actor } from "../actor.ts";
import { textInput } from "../field.ts";
import { impossible, invalid, Refusal } from "../refusal.ts";
import { mayDo } from "../right.ts";
import { connectApproved, CONNECTION_INPUT, placeOf, settingsOf } from "./connect.ts";
import type { ConnectCaller, Connecting } from "./connect.ts";

/** The installation's values for approval; without an app and a public address there are none. */
type InstallEnvironment = Pick<ActionTools, "keys" | "connecting"> & {
  database: Database;
  now: () => Date;
};

/** Where the merchant's browser goes next, or one sentence for its page. */
type InstallationReply = { location: string } | InstallationPage;

type InstallationPage = {
  status: 200 | 400 | 401 | 404 | 409 | 502;
  title: string;
  message: string;
  /** Where the person who started it continues. */
  next?: { href: string; text: string };
};

type Ready = InstallEnvironment & { connecting: ReadyApp };
type ReadyApp = { app: App; publicUrl: string };

const NO_APP = refused(404, "This service connects shops only with tokens: ask its operator.");
const STALE_LINK = refused(400, "This link is no longer valid: ask its sender for a new one.");
const USED_LINK = refused(400, "This link has already been used: ask its sender for a new one.");

/** Somebody who may install apps in the shop approved; the platform has checked that. */
const MERCHANT: Actor = { name: "merchant", origin: null, standing: "admin", isFresh: true, session: null };

/**
 * Creates the address at which somebody who may install apps in the shop connects it to this workspace, valid for seven days.
 * Refused when the service has no app or address.
 */
export const linkSource = defineAction({
  name: "source.link",
  title: "Create link",
  past: "Created a link to connect a source",
  least: "admin",
  proof: true,
  input: CONNECTION_INPUT,
  run: async (context: ActionContext<ConnectCaller>, input) => {
    const { shopKey, domain, actor, keys, now } = context;
    const { publicUrl } = requireReady(context.connecting);
    const { shop, url } = placeOf(context, input);
    if (shop === null) throw invalid("Name the shop, such as my-store.myshopify.com.", "shop");
    const choices = settingsOf(input);
    const endsInConsole = actor.session !== null;
    const madeBy = actor.standing === "operator" ? {} : { madeBy: actor.name };
    const place = { shopKey, workspace: domain, shop, url, choices, endsInConsole, ...madeBy };
    const link = sealInstallation(keys.sealingKey, "link", place, now);
    const secret = new ShownSecret(`${publicUrl}/connect/shopify?link=${link}`);
    return {
      result: { address: secret },
      done: "The merchant opens it within seven days, signed in to the shop. Anyone who has it and may install apps there can use it.",
      secret,
      audit: { detail: { source: SHOPIFY, shop, url, ...choices } },
    };
  },
});

/** Handles the address of a link or of the platform's own installation: redirects to the merchant's approval. */
export async function beginInstallation(
  environment: InstallEnvironment,
  query: URLSearchParams,
  browser: string,
): Promise<InstallationReply> {
  const ready = readyOf(environment);
  if (ready === null) return NO_APP;
  const link = query.get("link");
  if (link !== null) return beginWithLink(ready, link, browser);
  const stranger = refuseStranger(ready, query);
  if (stranger !== null) return stranger;
  const shop = query.get("shop") ?? "";
  if (!isShopHost(shop)) return refused(400, "Shopify sent no shop name, such as my-store.myshopify.com.");
  const [workspace] = await listAccountWorkspaces(ready.database, SHOPIFY, shop);
  if (workspace === undefined) {
    return refused(404, `There is no workspace for ${shop}: ask the operator of this service to create one.`);
  }
  // The platform opens this address whenever the merchant opens the app, and to install it, maybe before it reports the uninstallation.
  const { keys, connecting, database } = ready;
  const check = { database, sealingKey: keys.sealingKey, ...connecting.app };
  if (isConnected(workspace) && (await checkInstallation(check, workspace)) !== "gone")
    return { status: 200, title: "Connected", message: `${shop} is connected.` };
  const url = typeof workspace.settings?.["url"] === "string" ? workspace.settings["url"] : `https://${shop}`;
  const { shop_key: shopKey, shop_domain: domain } = workspace;
  return approval(ready, { shopKey, workspace: domain, shop, url, choices: {}, browser });
}

async function beginWithLink(ready: Ready, link: string, browser: string): Promise<InstallationReply> {
  const installation = openInstallation(ready.keys.sealingKey, "link", link, ready.now());
  if (installation === null || !(await mayStillLink(ready, installation))) return STALE_LINK;
  const { id: linkId, ...place } = installation;
  if (await hasDelivery(ready.database, place.shopKey, SHOPIFY, useOf("link", linkId))) return USED_LINK;
  return approval(ready, { ...place, browser, linkId });
}

/** null = the platform has sent this query just now. */
function refuseStranger(
  { connecting: { app }, now }: Ready,
  query: URLSearchParams,
): InstallationPage | null {
  if (!isSignedQuery(query, app.clientSecret)) {
    return refused(401, "This address works only when Shopify opens it.");
  }
  if (isFreshQuery(query, now())) return null;
  return refused(401, "This address is too old: open the app in Shopify again.");
}

/** Where the platform sends the merchant back to: the code becomes tokens, and the shop is connected. */
export async function finishInstallation(
  environment: InstallEnvironment,
  query: URLSearchParams,
  browser: string | null,
): Promise<InstallationReply> {
  const ready = readyOf(environment);
  if (ready === null) return NO_APP;
  const stranger = refuseStranger(ready, query);
  if (stranger !== null) return stranger;
  const installation = openInstallation(
    ready.keys.sealingKey,
    "state",
    query.get("state") ?? "",
    ready.now(),
  );
  if (installation === null) {
    return refused(400, "The approval was not started here, or took longer than ten minutes: start again.");
  }
  if (browser === null || installation.browser !== browser) {
    return refused(400, "The approval was started in another browser: start again in this one.");
  }
  const { shop } = installation;
  if (query.get("shop") !== shop || !isShopHost(shop)) {
    return refused(400, `The approval is for another shop than ${shop}: start again.`);
  }
  const code = query.get("code");
  if (code === null || code === "") return refused(400, `${shop} was not approved: nothing was connected.`);
  const workspace = await findWorkspace(ready.database, installation.workspace);
  if (workspace === null || workspace.shop_key !== installation.shopKey) {
    return refused(404, `There is no longer a workspace for ${shop}.`);
  }
  if (!(await mayStillLink(ready, installation))) return STALE_LINK;
  if (!(await useUp(ready, installation.shopKey, useOf("approval", installation.id)))) {
    return refused(400, "This approval has already been used: start again if the shop is not connected.");
  }
  const { linkId } = installation;
  if (linkId === undefined) return connect(ready, workspace, installation, code);
  return connectOnce(ready, workspace, { ...installation, linkId }, code);
}

/** A link connects once; an attempt without result can be repeated. */
async function connectOnce(
  ready: Ready,
  workspace: DirectoryRow,
  installation: OpenedInstallation & { linkId: string },
  code: string,
): Promise<InstallationPage> {
  const { shopKey, linkId } = installation;
  const use = useOf("link", linkId);
  if (!(await useUp(ready, shopKey, use))) return USED_LINK;
  let hasConnected = false;
  try {
    const page = await connect(ready, workspace, installation, code);
    hasConnected = page.status === 200;
    return page;
  } finally {
    if (!hasConnected) await forgetDelivery(ready.database, shopKey, SHOPIFY, use);
  }
}

function requireReady({ app, publicUrl }: Connecting): ReadyApp {
  if (app !== null && publicUrl !== null) return { app, publicUrl };
  throw impossible("Set PUBLIC_URL, SHOPIFY_CLIENT_ID and SHOPIFY_CLIENT_SECRET to connect by approval.");
}

/** Whether shops can be connected by approval. */
export function hasApproval({ publicUrl, app }: Connecting): boolean {
  return publicUrl !== null && app !== null;
}

function readyOf(environment: InstallEnvironment): Ready | null {
  const { connecting } = environment;
  return hasApproval(connecting) ? { ...environment, connecting: requireReady(connecting) } : null;
}

function approval({ keys, connecting, now }: Ready, installation: PendingInstall): InstallationReply {
  const { app, publicUrl } = connecting;
  const state = sealInstallation(keys.sealingKey, "state", installation, now());
  return { location: authorizeAddress(installation.url, { clientId: app.clientId, publicUrl, state }) };
}

function isConnected({ sealed_credentials: sealed, status }: AccountRow): boolean {
  return sealed !== null && status !== "disconnected";
}

/** One-time values are recorded like deliveries. Old deliveries are deleted later than these expire. */
function useOf(kind: "approval" | "link", id: string): string {
  return `${kind} ${id}`;
}

/** false = it was used before. */
async function useUp({ database }: Ready, shopKey: number, use: string): Promise<boolean> {
  const delivery = { shopKey, source: SHOPIFY, webhookId: use, replayKey: `id ${use}` };
  return recordDelivery(database, { ...delivery, topic: "approval", records: [] });
}

/** A member's link ends with their right to make one. */
async function mayStillLink({ database }: Ready, { shopKey, madeBy }: PendingInstall): Promise<boolean> {
  if (madeBy === undefined) return true;
  const roles = ROLES.filter((role) => mayDo(role, linkSource));
  const members = await listMembersByRole(database, shopKey, roles);
  return members.some((userId) => userName(userId) === madeBy);
}

async function connect(
  { database, keys, connecting, now }: Ready,
  workspace: DirectoryRow,
  { shop, url, choices, endsInConsole }: PendingInstall,
  code: string,
): Promise<InstallationPage> {
  try {
    const secrets = await exchangeCode(url, connecting.app, code, now());
    const approved = { source: SHOPIFY_SOURCE, shop, url, settings: choices, secrets };
    const caller = { database, keys, connecting, workspace, actor: MERCHANT, now: now(), approved };
    await runAction(connectApproved, caller, textInput({}));
  } catch (error) {
    if (error instanceof SourceRefused) return refused(400, error.message);
    if (error instanceof Refusal) return refused(409, error.message);
    if (error instanceof SourceFailed) return refused(502, error.message);
    throw error;
  }
  if (endsInConsole === true) {
    const message = `${shop} is connected, and its orders are being read.`;
    const href = `/w/${encodeURIComponent(workspace.shop_domain)}/settings/sources/${SHOPIFY}/progress`;
    return { status: 200, title: "Connected", message, next: { href, text: "View progress" } };
  }
  const message = `${shop} is connected, and its orders are being read. This page can be closed.`;
  return { status: 200, title: "Connected", message };
}

function refused(status: InstallationPage["status"], message: string): InstallationPage {
  return { status, title: "Not connected", message };
}
