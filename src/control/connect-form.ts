import type { App } from "../sync/connectors/shopify/install/token-endpoint.ts";
import { isShopHost } from "../sync/connectors/shopify/api/hosts.ts";
import type { Source } from "../sync/connector.ts";
import type { Database } from "../store/database.ts";
import type { Acting } from "./acting.ts";
import { connectSource, isKey } from "./connect.ts";
import type { Connected } from "./connect.ts";
import { createInstallationLink } from "./connect-oauth.ts";
import type { OAuthEnvironment } from "./connect-oauth.ts";
import { readPlace } from "./connect-place.ts";
import type { PlaceRequest } from "./connect-place.ts";
import { publicConsole } from "./console-address.ts";
import { invalid } from "./refusal.ts";
import { requireRight } from "./rights.ts";

/** A member who connects a source. */
type ConnectingMember = Pick<Acting, "keys" | "connecting" | "actor" | "workspace" | "now"> & {
  database: Database;
};

/** What connecting needs of the installation; `app` null = it has none that shops approve. */
export type Connecting = { publicUrl: string | null; app: App | null };

/** What a page's form asks for; "" = nothing was filled in. */
export type ConnectForm = {
  shop: string;
  /** Instead of the source's own, on this machine alone. */
  address: string;
  /** By the names of the source: its key, and what may come with it. */
  secrets: Readonly<Record<string, string>>;
  /** By the names of the source's options; null = the usual. */
  settings: Readonly<Record<string, unknown>>;
};

/** Whether whoever uses the console is on this machine, and so may name an address of it, such as a simulator's. */
export function mayNameAddress({ publicUrl }: Connecting): boolean {
  return publicConsole(publicUrl) === null;
}

/** Whether shops can be connected by approval. */
export function hasApproval({ publicUrl, app }: Connecting): boolean {
  return publicUrl !== null && app !== null;
}

/** Connects a source with its key. Throws a `Refusal` that repeats nothing of what was filled in as a secret. */
export async function connectByForm(
  acting: ConnectingMember,
  source: Source,
  form: ConnectForm,
): Promise<Connected> {
  requireRight(acting.actor, "source.connect");
  const place = readFormPlace(acting, source, form);
  const { key, otherSecrets } = source;
  const secrets = { [key.secret]: requireKey(key.title, form.secrets[key.secret] ?? "") };
  for (const { secret, title } of otherSecrets) {
    const given = form.secrets[secret] ?? "";
    if (given.trim() !== "") secrets[secret] = requireKey(title, given);
  }
  const { settings } = form;
  return connectSource(environmentOf(acting), acting.actor, acting.workspace, source, {
    ...place,
    settings,
    secrets,
  });
}

/** The address at which whoever may install apps in the shop approves the connection; it ends on a page of the console. */
export async function linkByForm(
  acting: ConnectingMember,
  source: Source,
  form: ConnectForm,
): Promise<string> {
  requireRight(acting.actor, "source.link");
  readFormPlace(acting, source, form);
  const { settings } = form;
  const request = { ...placeRequest(form), settings, endsInConsole: true };
  return createInstallationLink(environmentOf(acting), acting.actor, acting.workspace, request);
}

function readFormPlace({ connecting }: ConnectingMember, source: Source, form: ConnectForm) {
  const { shop, address } = placeRequest(form);
  // What is pasted into the wrong field may be a secret, so that it is not repeated.
  if (source.address === null && (shop === undefined || !isShopHost(shop))) {
    throw invalid("The shop must be its name at Shopify, such as my-store.myshopify.com.");
  }
  if (address !== undefined && !mayNameAddress(connecting)) {
    throw invalid("The address cannot be chosen here: leave it out.");
  }
  return readPlace(source, placeRequest(form));
}

function placeRequest({ shop, address }: ConnectForm): PlaceRequest & { address: string | undefined } {
  const url = address.trim() === "" ? undefined : address.trim();
  return { shop: shop.trim().toLowerCase() || undefined, url, address: url };
}

function requireKey(title: string, given: string): string {
  const key = given.trim();
  if (isKey(key)) return key;
  throw invalid(`The ${title} must be one word of letters, digits and signs.`);
}

function environmentOf({ database, keys, connecting }: ConnectingMember): OAuthEnvironment {
  return { database, sealingKey: keys.sealingKey, ...connecting, now: () => new Date() };
}
