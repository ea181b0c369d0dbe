import { SCOPES } from "../contract/endpoint.ts";
import { mcpAddress } from "../contract/written-request.ts";
import { isLoopbackHost } from "../lib/networks.ts";
import { readSigned, signed } from "../lib/signed.ts";
import { hashOf, newSecret } from "./secret.ts";
import { keyedHash } from "./token.ts";

/** A program that requests access, as it describes itself; none of it is verified. */
export type OauthClient = { name: string; redirectUris: readonly string[] };

/** An error of RFC 6749 or 7591, with a sentence for the client's developer. */
export class OauthError extends Error {
  readonly code: string;
  readonly status: number;

  constructor(code: string, sentence: string, status = 400) {
    super(sentence);
    this.code = code;
    this.status = status;
  }
}

export const OAUTH_PATHS = {
  authorize: "/oauth/authorize",
  token: "/oauth/token",
  register: "/oauth/register",
  revoke: "/oauth/revoke",
} as const;

export const RESOURCE_METADATA_PATH = "/.well-known/oauth-protected-resource";

const LONGEST_NAME = 60;
const MOST_REDIRECTS = 5;
/** Of a description, of which nothing is kept in addresses. */
const MOST_DESCRIBED = 20;
const LONGEST_REDIRECT = 255;
/** Of name and addresses together, as they are in the id: a browser keeps the whole request in a cookie while it signs in. */
const LONGEST_DESCRIPTION_BYTES = 800;
/** A host that is safe in a Content-Security-Policy; URLs allow `;` in theirs. */
const HOST = /^[a-z\d](?:[a-z\d.-]*[a-z\d])?$/u;
/** Schemes of installed apps that are not named after a domain (RFC 8252). Others may start any program. */
export const APP_SCHEMES: readonly string[] = ["cursor:", "vscode:", "vscode-insiders:", "windsurf:"];
const DOMAIN_SCHEME = /^[a-z][a-z\d-]*(?:\.[a-z\d-]+)+:$/u;

/** Whether codes may be sent to an address: https, http on the person's own machine, or an installed app's scheme. */
export function isRedirect(text: string): boolean {
  if (text.length > LONGEST_REDIRECT || !/^[!-~]+$/u.test(text) || text.includes("#")) return false;
  const url = URL.parse(text);
  if (url === null || url.username !== "" || url.password !== "") return false;
  if (url.protocol === "https:") return HOST.test(url.hostname);
  if (url.protocol === "http:") return isLoopbackHost(url.hostname);
  return APP_SCHEMES.includes(url.protocol) || DOMAIN_SCHEME.test(url.protocol);
}

const BAD_CLIENT = "invalid_client_metadata";
const BAD_REDIRECT = "invalid_redirect_uri";

/** Reads the metadata that a client registers (RFC 7591). Other requested values are answered, but not used. Throws `OauthError`. */
export function readRegistration(body: unknown): OauthClient {
  const { client_name: given = "An app", redirect_uris: redirects } = (body ?? {}) as Record<string, unknown>;
  if (typeof given !== "string" || given.length > 4 * LONGEST_NAME)
    throw new OauthError(BAD_CLIENT, `client_name must be text of up to ${LONGEST_NAME} characters.`);
  if (!Array.isArray(redirects) || redirects.length === 0 || redirects.length > MOST_REDIRECTS)
    throw new OauthError(BAD_REDIRECT, `redirect_uris must be a list of 1 to ${MOST_REDIRECTS} addresses.`);
  if (!redirects.every((each): each is string => typeof each === "string" && isRedirect(each))) {
    throw new OauthError(
      BAD_REDIRECT,
      "Each of redirect_uris must be https, http on this machine itself (127.0.0.1 or localhost), or an installed app's own scheme, of up to 255 characters and without # and user name.",
    );
  }
  // Without line breaks, invisible or direction-changing characters, or the quotation marks that pages put around it: it is shown
  // as the app's own claim. Trimmed after the cut, because people type it to confirm the end of its access.
  const name = given
    .toWellFormed()
    .replaceAll(/[\p{C}\p{Z}\p{DI}\u2800“”]+/gu, " ")
    .trim()
    .slice(0, LONGEST_NAME)
    .toWellFormed()
    .trim();
  const client = { name: name === "" ? "An app" : name, redirectUris: [...new Set(redirects)] };
  if (describe(client).length <= LONGEST_DESCRIPTION_BYTES) return client;
  throw new OauthError(BAD_CLIENT, "client_name and redirect_uris are too long together.");
}

/**
 * A client's id: its signed registration. So registering stores nothing, however often it is done, and the same client always has
 * the same id (RFC 7591, appendix A.5.2).
 */
export function clientIdOf(client: OauthClient, key: Buffer): string {
  return signed(key, describe(client).toString("base64url"));
}

/** The client of an id; null = this installation gave out no such id. */
export function readClientId(clientId: string, key: Buffer): OauthClient | null {
  const text = readSigned(key, clientId);
  if (text === null) return null;
  const [name = "", ...redirectUris] = JSON.parse(Buffer.from(text, "base64url").toString()) as string[];
  return { name, redirectUris };
}

/**
 * Whether a client's id is the address of its own description (OAuth Client ID Metadata Document). Over http it is one of the
 * networks that the operator allows, or is not fetched.
 */
export function isClientAddress(clientId: string): boolean {
  const url = clientId.length <= LONGEST_REDIRECT ? URL.parse(clientId) : null;
  if (url === null || url.href !== clientId || !/^https?:$/u.test(url.protocol)) return false;
  return url.pathname !== "/" && !clientId.includes("#") && url.username === "" && url.password === "";
}

/** Reads the description at that address: the client's name and redirect addresses. Throws `OauthError`. */
export function readDescription(clientId: string, document: unknown): OauthClient {
  const told = (document ?? {}) as Record<string, unknown>;
  if (told["client_id"] !== clientId)
    throw new OauthError("invalid_client", "Its description names another client_id.");
  if ((told["token_endpoint_auth_method"] ?? "none") !== "none")
    throw new OauthError("invalid_client", "Its token_endpoint_auth_method must be none.");
  const redirects = told["redirect_uris"];
  const listed = (Array.isArray(redirects) ? redirects : []).filter(
    (each): each is string => typeof each === "string" && isRedirect(each),
  );
  const client = readRegistration({ ...told, redirect_uris: listed.slice(0, 1) });
  return { ...client, redirectUris: listed.slice(0, MOST_DESCRIBED) };
}

/** Whether a client's id can be one at all; its grants are found by its hash. */
export function isClientId(clientId: string, key: Buffer): boolean {
  return isClientAddress(clientId) || readClientId(clientId, key) !== null;
}

/** Whether a client registered an address; on a person's own machine the port is the one that was free (RFC 8252). */
export function hasRedirect({ redirectUris }: OauthClient, asked: string): boolean {
  if (redirectUris.includes(asked)) return true;
  if (!asked.startsWith("http://") || !isRedirect(asked)) return false;
  return redirectUris.some((each) => each.startsWith("http://") && withoutPort(each) === withoutPort(asked));
}

/** Whether a verifier matches a challenge; S256 only (RFC 7636). */
export function isVerifier(verifier: string, challenge: string): boolean {
  return /^[\w.~-]{43,128}$/u.test(verifier) && hashOf(verifier).toString("base64url") === challenge;
}

/**
 * A code or a refresh token: the token id, whose shop key locates its rows, what all refresh tokens of the grant share, and a
 * secret of its own.
 */
export type GrantSecret = { tokenId: string; family: string; secret: string };

const GRANT_SECRETS = {
  code: /^rta_code_(?<tokenId>[0-9A-Za-z]{16})(?<family>)(?<secret>[\w-]{43})$/u,
  refresh: /^rta_refresh_(?<tokenId>[0-9A-Za-z]{16})(?<family>[\w-]{43})(?<secret>[\w-]{43})$/u,
};

/** null = the text is none. */
export function readGrantSecret(kind: keyof typeof GRANT_SECRETS, text: string): GrantSecret | null {
  return (GRANT_SECRETS[kind].exec(text)?.groups as GrantSecret | undefined) ?? null;
}

/** The next one of a grant; a code has no family. */
export function newGrantSecret(
  kind: keyof typeof GRANT_SECRETS,
  tokenId: string,
  family: string,
  pepper: Buffer,
) {
  const { text: secret } = newSecret();
  const text = `rta_${kind}_${tokenId}${family}${secret}`;
  return { text, familyHash: keyedHash(family, pepper), hash: keyedHash(secret, pepper) };
}

/** Metadata of the MCP endpoint as a protected resource (RFC 9728); `issuer`: this service, such as https://returns.example. */
export function resourceMetadata(issuer: string) {
  return {
    resource: mcpAddress(issuer),
    authorization_servers: [issuer],
    scopes_supported: SCOPES,
    bearer_methods_supported: ["header"],
    resource_name: "Returns Analytics",
    resource_documentation: `${issuer}/docs/mcp`,
  };
}

/** Metadata of the authorization server (RFC 8414). */
export function serverMetadata(issuer: string) {
  return {
    issuer,
    authorization_endpoint: issuer + OAUTH_PATHS.authorize,
    token_endpoint: issuer + OAUTH_PATHS.token,
    registration_endpoint: issuer + OAUTH_PATHS.register,
    revocation_endpoint: issuer + OAUTH_PATHS.revoke,
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
}

function describe({ name, redirectUris }: OauthClient): Buffer {
  return Buffer.from(JSON.stringify([name, ...redirectUris]));
}

function withoutPort(address: string): string {
  const url = new URL(address);
  url.port = "";
  return url.href;
}
