import {
  hasRedirect,
  isClientAddress,
  OAUTH_PATHS,
  OauthError,
  readClientId,
  readDescription,
  type OauthClient,
} from "../../access/oauth.ts";
import { hashOf } from "../../access/secret.ts";
import { fetchJson } from "../../alerts/delivery/post.ts";
import { LONGEST_TARGET } from "../../console/cookies.ts";
import { createMinuteLimit } from "../../console/minute-limit.ts";
import { addressOf, withQuery } from "../../console/page-call.ts";
import {
  ownCaller,
  showState,
  type RouteHandler,
  type Routes,
  type SessionContext,
} from "../../console/session-context.ts";
import { SCOPES } from "../../contract/endpoint.ts";
import { mcpAddress } from "../../contract/written-request.ts";
import { keyFor } from "../../lib/keys.ts";
import { oauthIssuer } from "../console-address.ts";
import { sealRequest } from "./actions.ts";
import { cannotConnect, CONNECT_PATH } from "./page.ts";

const PATH = OAUTH_PATHS.authorize;

/**
 * Where an app sends a person: its request is checked, and the person led to the page that asks them, of their workspace or of the
 * one that they choose. Errors are shown here: anybody can register an address, so redirecting a browser there before the person
 * has decided would be an open redirect (RFC 9700, 4.11).
 */
export function authorizeRoutes(context: SessionContext): Routes {
  const { control, identity } = context;
  const issuer = oauthIssuer(control.connecting.publicUrl);
  if (issuer === null) return {};
  const readClient = createClientReader(context);
  const get: RouteHandler = async (request, reply) => {
    const visitor = await context.signedIn(request);
    try {
      const asked = new URLSearchParams((request.raw.url ?? "").split("?").slice(1).join("?"));
      const address = `${PATH}?${asked.toString()}`;
      if (address.length > LONGEST_TARGET) throw wrong("Its request is too long.");
      const client = await readClient(asked.get("client_id") ?? "", visitor?.person.userId ?? null);
      const app = client && readRequest(asked, client, issuer);
      if (visitor === null || app === null) return await context.toSignIn(request, reply, address);
      const caller = ownCaller(context, { request, visitor });
      if (!caller.actor.isFresh) return await reply.redirect(withQuery("/confirm", { next: address }), 303);
      const page = withQuery(CONNECT_PATH, { request: sealRequest(caller, app) });
      const only = await identity.homeOf(visitor.person.userId, null);
      return await reply.redirect(only === null ? withQuery("/w", { page }) : addressOf(only, page), 303);
    } catch (error) {
      if (!(error instanceof OauthError)) throw error;
      return showState(reply, cannotConnect(error.message));
    }
  };
  return { [PATH]: { get } };
}

const wrong = (sentence: string) => new OauthError("invalid_request", sentence);

/** Throws `OauthError`. */
function readRequest(given: URLSearchParams, client: OauthClient, issuer: string) {
  const twice = [...given.keys()].find((name) => given.getAll(name).length > 1);
  if (twice !== undefined) throw wrong(`Its request names ${twice} twice.`);
  const clientId = given.get("client_id") ?? "";
  const redirectUri = given.get("redirect_uri") ?? "";
  if (!hasRedirect(client, redirectUri))
    throw wrong("It has not registered this redirect address (redirect_uri).");
  if (given.get("response_type") !== "code") throw wrong("It must request a code (response_type).");
  const codeChallenge = given.get("code_challenge") ?? "";
  if (given.get("code_challenge_method") !== "S256" || !/^[\w-]{43}$/u.test(codeChallenge))
    throw wrong("It must use PKCE with S256 (code_challenge).");
  if ((given.get("resource") ?? mcpAddress(issuer)) !== mcpAddress(issuer))
    throw wrong(`It requests a service other than ${mcpAddress(issuer)} (resource).`);
  const named = (given.get("scope") ?? "").split(" ");
  const known = SCOPES.filter((scope) => named.includes(scope));
  const answerTo = new URL(redirectUri);
  answerTo.searchParams.set("iss", issuer);
  const state = given.get("state");
  if (state !== null) answerTo.searchParams.set("state", state);
  return {
    clientHash: hashOf(clientId).toString("hex"),
    name: client.name,
    describedAt: isClientAddress(clientId) ? new URL(clientId).host : null,
    redirectUri,
    answerTo: answerTo.href,
    codeChallenge,
    // Some clients request only OpenID scopes: the person chooses.
    scopes: known.length === 0 ? SCOPES : known,
  };
}

const DESCRIPTION = { mostBytes: 10_240, timeoutMs: 5000 };
/** Of descriptions, for one person. */
const MOST_READ_PER_MINUTE = 20;

/**
 * Reads clients that registered here, and those that describe themselves at an address, which is fetched as alerts are sent; null:
 * nobody is signed in who may have that read. Throws `OauthError`.
 */
function createClientReader({ control, now }: SessionContext) {
  const key = keyFor("apps", control.keys);
  const admits = createMinuteLimit(MOST_READ_PER_MINUTE);
  return async (clientId: string, userId: string | null): Promise<OauthClient | null> => {
    if (!isClientAddress(clientId)) {
      const client = readClientId(clientId, key);
      if (client !== null) return client;
      throw wrong("It is not registered here (client_id).");
    }
    if (userId === null) return null;
    if (!admits(userId, now())) throw wrong("Too many apps were tried: wait a minute.");
    const { mostBytes, timeoutMs } = DESCRIPTION;
    const fetched = await fetchJson(clientId, mostBytes, { ...control.push, timeoutMs });
    if (!("problem" in fetched)) return readDescription(clientId, fetched.value);
    throw wrong(`Its description could not be read (client_id): ${fetched.problem}`);
  };
}
