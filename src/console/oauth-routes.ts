import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import {
  AUTHORIZE_PATH,
  clientIdOf,
  isClientAddress,
  OauthError,
  readClientId,
  readRegistration,
  readRequest,
  RESOURCE_METADATA_PATH,
  wrongRequest,
} from "../access/oauth.ts";
import { endGrant, exchange, fetchClient, sealRequest, type GrantCaller } from "../actions/apps/actions.ts";
import { cannotConnect, CONNECT_PATH } from "../actions/apps/page.ts";
import { oauthIssuer } from "../actions/console-address.ts";
import { SCOPES } from "../contract/endpoint.ts";
import { mcpAddress } from "../contract/written-request.ts";
import { clientKeyOf } from "../http/client-address.ts";
import { noteRefusal } from "../http/request-log.ts";
import type { RouteGroup } from "../http/server.ts";
import { keyFor } from "../lib/keys.ts";
import { parsedJson } from "../lib/parsed-json.ts";
import { LONGEST_TARGET } from "./cookies.ts";
import { createMinuteLimit } from "./minute-limit.ts";
import { addressOf, withQuery } from "./page-call.ts";
import { ownCaller, showState } from "./session-context.ts";
import type { RouteHandler, Routes, SessionContext, SessionOptions } from "./session-context.ts";

const BODY_LIMIT_BYTES = 8192;
/**
 * Registrations store nothing; they cost a signature. A hosted assistant registers for many people. A few addresses cannot use up
 * the total.
 */
const MOST_REGISTRATIONS = { ofAddress: 30, ofAll: 6000 };
/** Failed exchanges, and revocations, per address. */
const MOST_FAILURES = 300;
/** Cookies are not used here, so pages of any origin may call it. */
const SHARED = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Methods": "GET, POST",
  "Access-Control-Allow-Headers": "Authorization, Content-Type, MCP-Protocol-Version",
};
const TOO_MANY = new OauthError("temporarily_unavailable", "Too many requests: try again in a minute.", 429);
const FORM_TYPE = /^application\/x-www-form-urlencoded\b/iu;
const NO_FORM = wrongRequest(
  "The body must be a form (application/x-www-form-urlencoded) that names each field once.",
);
const OTHER_GRANT = new OauthError(
  "unsupported_grant_type",
  "grant_type must be authorization_code or refresh_token.",
);
const UNKNOWN_CLIENT = new OauthError("invalid_client", "client_id is not that of a registered client.");

/** The body of an answer; null = none. Throws `OauthError`. */
type Ask = (request: FastifyRequest, reply: FastifyReply) => object | null | Promise<object | null>;
type Act = (caller: GrantCaller, field: (name: string) => string) => Promise<object | null>;

/** The endpoints that MCP clients call before and after consent; [] without a suitable address. */
export function createOauthRoutes({ control, now }: Pick<SessionOptions, "control" | "now">): RouteGroup[] {
  const issuer = oauthIssuer(control.connecting.publicUrl);
  if (issuer === null) return [];
  const key = keyFor("apps", control.keys);
  const resource = mcpAddress(issuer);
  const ofAddress = createMinuteLimit(MOST_REGISTRATIONS.ofAddress);
  const ofAll = createMinuteLimit(MOST_REGISTRATIONS.ofAll);
  // RFC 7591: no client has a secret, and each gets this service's values, whatever it requested.
  const register: Ask = ({ clientAddress, body }, reply) => {
    const at = now();
    if (!ofAddress(clientKeyOf(clientAddress), at) || !ofAll("", at)) throw TOO_MANY;
    const { name, redirectUris } = readRegistration(parsedJson(String(body)));
    const clientId = clientIdOf({ name, redirectUris }, key);
    reply.code(201);
    return {
      client_id: clientId,
      client_id_issued_at: Math.floor(at.getTime() / 1000),
      client_name: name,
      redirect_uris: redirectUris,
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    };
  };
  // A form of a client (RFC 6749, section 3.2). Those that fail count for its address, and revocations, which answer nothing.
  const form = (path: string, act: Act): RouteGroup => {
    const admits = createMinuteLimit(MOST_FAILURES);
    return route(path, "POST", async ({ clientAddress, body, headers }) => {
      const address = clientKeyOf(clientAddress);
      if (!admits(address, now())) throw TOO_MANY;
      const sent = new URLSearchParams(FORM_TYPE.test(headers["content-type"] ?? "") ? String(body) : "");
      if (sent.size === 0 || sent.size !== new Set(sent.keys()).size) throw NO_FORM;
      const field = (name: string): string => sent.get(name) ?? "";
      const clientId = field("client_id");
      if (!isClientAddress(clientId) && readClientId(clientId, key) === null) throw UNKNOWN_CLIENT;
      const issued = await act({ ...control, now: now(), clientId, address: clientAddress }, field);
      if (issued !== null) admits.giveBack(address);
      return issued;
    });
  };
  return [
    ...metadataOf(issuer, resource).map(([path, body]) => route(path, "GET", () => body)),
    route("/oauth/register", "POST", register),
    form("/oauth/token", (caller, field) => {
      // A grant is good for one client and one resource.
      if ((field("resource") || resource) !== resource)
        throw new OauthError("invalid_target", `resource must be ${resource}.`);
      const kind = field("grant_type");
      if (kind === "refresh_token") return exchange(caller, field("refresh_token"), null);
      if (kind !== "authorization_code") throw OTHER_GRANT;
      const proof = { redirectUri: field("redirect_uri"), verifier: field("code_verifier") };
      return exchange(caller, field("code"), proof);
    }),
    // RFC 7009.
    form("/oauth/revoke", (caller, field) => endGrant(caller, field("token"))),
  ];
}

/**
 * Where an app sends a person: its request is checked, and the person led to the page that asks them, of their workspace or of the
 * one that they choose. Errors are shown here: anybody can register an address, so redirecting a browser there before the person
 * has decided would be an open redirect (RFC 9700, 4.11).
 */
export function authorizeRoutes(context: SessionContext): Routes {
  const { control, identity, now } = context;
  const issuer = oauthIssuer(control.connecting.publicUrl);
  if (issuer === null) return {};
  const key = keyFor("apps", control.keys);
  const get: RouteHandler = async (request, reply) => {
    const visitor = await context.signedIn(request);
    const asked = new URLSearchParams((request.raw.url ?? "").split("?").slice(1).join("?"));
    const address = `${AUTHORIZE_PATH}?${asked.toString()}`;
    const clientId = asked.get("client_id") ?? "";
    try {
      if (address.length > LONGEST_TARGET) throw wrongRequest("Its request is too long.");
      const registered = readClientId(clientId, key);
      if (registered === null && !isClientAddress(clientId))
        throw wrongRequest("It is not registered here (client_id).");
      // Strangers cause no request to an address of theirs; a person's count as their forms do.
      if (registered === null && visitor !== null && !context.admitsForm(visitor.person.userId, now()))
        throw wrongRequest("Too many apps were tried: wait a minute.");
      const client = registered ?? (visitor && (await fetchClient(clientId, control.push)));
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
  return { [AUTHORIZE_PATH]: { get } };
}

/** By path: of the MCP endpoint as a protected resource (RFC 9728), and of the authorization server (RFC 8414). */
function metadataOf(issuer: string, resource: string): (readonly [path: string, body: object])[] {
  const protectedResource = {
    resource,
    authorization_servers: [issuer],
    scopes_supported: SCOPES,
    bearer_methods_supported: ["header"],
    resource_name: "Returns Analytics",
    resource_documentation: `${issuer}/docs/mcp`,
  };
  const server = {
    issuer,
    authorization_endpoint: issuer + AUTHORIZE_PATH,
    token_endpoint: `${issuer}/oauth/token`,
    registration_endpoint: `${issuer}/oauth/register`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    scopes_supported: SCOPES,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    token_endpoint_auth_methods_supported: ["none"],
    revocation_endpoint_auth_methods_supported: ["none"],
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
    service_documentation: `${issuer}/docs/mcp`,
  };
  return [
    [RESOURCE_METADATA_PATH, protectedResource],
    [RESOURCE_METADATA_PATH + new URL(resource).pathname, protectedResource],
    ["/.well-known/oauth-authorization-server", server],
  ];
}

/** A route with its own bodies, which are short texts, and errors. */
function route(path: string, method: "GET" | "POST", ask: Ask): RouteGroup {
  const register = async (scope: FastifyInstance): Promise<void> => {
    scope.removeAllContentTypeParsers();
    const limits = { parseAs: "string", bodyLimit: BODY_LIMIT_BYTES } as const;
    scope.addContentTypeParser("*", limits, (_request, body, done) => done(null, body));
    scope.addHook("onRequest", async (_request, reply) => void reply.headers(SHARED));
    scope.setErrorHandler((error, request, reply) => {
      if (!(error instanceof OauthError)) throw error;
      const { code, message, status } = error;
      noteRefusal(request, message);
      if (status === 429 || status === 503) reply.header("Retry-After", "60");
      return reply.code(status).send({ error: code, error_description: message });
    });
    scope.options(path, (_request, reply) => reply.code(204).send());
    const handler = async (request: FastifyRequest, reply: FastifyReply) =>
      reply.send((await ask(request, reply)) ?? undefined);
    scope.route({ method, url: path, handler });
  };
  const allowedMethods = method === "GET" ? "GET, HEAD, OPTIONS" : "POST, OPTIONS";
  return { path, allowedMethods, register: (server) => void server.register(register) };
}
