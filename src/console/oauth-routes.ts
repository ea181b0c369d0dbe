import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import {
  clientIdOf,
  isClientId,
  OAUTH_PATHS,
  OauthError,
  readRegistration,
  RESOURCE_METADATA_PATH,
  resourceMetadata,
  serverMetadata,
} from "../access/oauth.ts";
import type { ActionTools } from "../actions/action.ts";
import { endGrant, exchange, type GrantCaller } from "../actions/apps/actions.ts";
import { oauthIssuer } from "../actions/console-address.ts";
import { mcpAddress } from "../contract/written-request.ts";
import { clientKeyOf } from "../http/client-address.ts";
import { noteRefusal } from "../http/request-log.ts";
import type { RouteGroup } from "../http/server.ts";
import { keyFor } from "../lib/keys.ts";
import { parsedJson } from "../lib/parsed-json.ts";
import { createMinuteLimit } from "./minute-limit.ts";

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

type OauthOptions = { control: ActionTools; now: () => Date };
const TOO_MANY = new OauthError("temporarily_unavailable", "Too many requests: try again in a minute.", 429);
/** The body of an answer; null = none. Throws `OauthError`. */
type Ask = (request: FastifyRequest, reply: FastifyReply) => object | null | Promise<object | null>;

/** The endpoints that MCP clients call before and after consent; [] without a suitable address. */
export function createOauthRoutes(options: OauthOptions): RouteGroup[] {
  const { control, now } = options;
  const issuer = oauthIssuer(control.connecting.publicUrl);
  if (issuer === null) return [];
  const key = keyFor("apps", control.keys);
  const resource = mcpAddress(issuer);
  const metadata = (path: string, body: object): RouteGroup => route(path, "GET", () => body);
  const form = (path: string, act: Act): RouteGroup => route(path, "POST", createForm(options, key, act));
  return [
    metadata(RESOURCE_METADATA_PATH, resourceMetadata(issuer)),
    metadata(RESOURCE_METADATA_PATH + new URL(resource).pathname, resourceMetadata(issuer)),
    metadata("/.well-known/oauth-authorization-server", serverMetadata(issuer)),
    route(OAUTH_PATHS.register, "POST", createRegister(key, now)),
    form(OAUTH_PATHS.token, (caller, field) => issue(caller, field, resource)),
    form(OAUTH_PATHS.revoke, async (caller, field) => {
      await endGrant(caller, field("token"));
      return null;
    }),
  ];
}

/** RFC 7591: no client has a secret, and each gets this service's values, whatever it requested. */
function createRegister(key: Buffer, now: () => Date): Ask {
  const ofAddress = createMinuteLimit(MOST_REGISTRATIONS.ofAddress);
  const ofAll = createMinuteLimit(MOST_REGISTRATIONS.ofAll);
  return (request, reply) => {
    const at = now();
    if (!ofAddress(clientKeyOf(request.clientAddress), at) || !ofAll("", at)) throw TOO_MANY;
    const client = readRegistration(request.body);
    reply.code(201);
    return {
      client_id: clientIdOf(client, key),
      client_id_issued_at: Math.floor(at.getTime() / 1000),
      client_name: client.name,
      redirect_uris: client.redirectUris,
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    };
  };
}

/** The text of a form's field; "" = it has none. */
type TextOf = (name: string) => string;
type Act = (caller: GrantCaller, field: TextOf) => Promise<object | null>;

const NO_FORM = new OauthError(
  "invalid_request",
  "The body must be a form (application/x-www-form-urlencoded) that names each field once.",
);
const UNKNOWN_CLIENT = new OauthError("invalid_client", "client_id is not that of a registered client.");

/** A form of a client (RFC 6749, section 3.2). Those that fail count for its address, and revocations (RFC 7009), which answer nothing. */
function createForm({ control, now }: OauthOptions, key: Buffer, act: Act): Ask {
  const admits = createMinuteLimit(MOST_FAILURES);
  return async ({ clientAddress, body: form }) => {
    const address = clientKeyOf(clientAddress);
    if (!admits(address, now())) throw TOO_MANY;
    if (!(form instanceof URLSearchParams) || form.size !== new Set(form.keys()).size) throw NO_FORM;
    const field = (name: string): string => form.get(name) ?? "";
    const clientId = field("client_id");
    if (!isClientId(clientId, key)) throw UNKNOWN_CLIENT;
    const issued = await act({ ...control, now: now(), clientId, address: clientAddress }, field);
    if (issued !== null) admits.giveBack(address);
    return issued;
  };
}

/** A grant is good for one client and one resource. */
async function issue(caller: GrantCaller, field: TextOf, resource: string): Promise<object> {
  if ((field("resource") || resource) !== resource)
    throw new OauthError("invalid_target", `resource must be ${resource}.`);
  switch (field("grant_type")) {
    case "authorization_code": {
      const proof = { redirectUri: field("redirect_uri"), verifier: field("code_verifier") };
      return exchange(caller, field("code"), proof);
    }
    case "refresh_token":
      return exchange(caller, field("refresh_token"), null);
    default:
      throw new OauthError(
        "unsupported_grant_type",
        "grant_type must be authorization_code or refresh_token.",
      );
  }
}

const BODIES: readonly (readonly [type: string, read: (text: string) => unknown])[] = [
  ["application/json", parsedJson],
  ["application/x-www-form-urlencoded", (text) => new URLSearchParams(text)],
];

/** A route with its own bodies, which are short, and errors. */
function route(path: string, method: "GET" | "POST", ask: Ask): RouteGroup {
  return {
    path,
    allowedMethods: method === "GET" ? "GET, HEAD, OPTIONS" : "POST, OPTIONS",
    register: (server: FastifyInstance): void => {
      void server.register(async (scope) => {
        scope.removeAllContentTypeParsers();
        for (const [type, read] of BODIES) {
          const limits = { parseAs: "string", bodyLimit: BODY_LIMIT_BYTES } as const;
          scope.addContentTypeParser<string>(type, limits, (_request, body, done) => done(null, read(body)));
        }
        scope.addHook("onRequest", (_request, reply, done) => {
          reply.headers(SHARED);
          done();
        });
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
      });
    },
  };
}
