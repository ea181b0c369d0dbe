import { SCOPES } from "../contract/endpoint.ts";
import { mcpAddress } from "../contract/written-request.ts";
import { isLoopbackHost } from "../lib/networks.ts";
import { readSigned, signed } from "../lib/signed.ts";
import { hashOf } from "./secret.ts";

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

export const wrongRequest = (sentence: string) => new OauthError("invalid_request", sentence);

export const AUTHORIZE_PATH = "/oauth/authorize";
export const RESOURCE_METADATA_PATH = "/.well-known/oauth-protected-resource";

const LONGEST_NAME = 60;
const MOST_REDIRECTS = 20;
const LONGEST_REDIRECT = 255;
/** Of name and addresses together, as they are in the id: a browser keeps the whole request in a cookie while it signs in. */
const LONGEST_DESCRIPTION_BYTES = 800;
/** A host that is safe in a Content-Security-Policy; URLs allow `;` in theirs. */
const HOST = /^[a-z\d](?:[a-z\d.-]*[a-z\d])?$/u;
/** Schemes of installed apps that are not named after a domain (RFC 8252). Others may start any program. */
export const APP_SCHEMES: readonly string[] = ["cursor:", "vscode:", "vscode-insiders:", "windsurf:"];
const DOMAIN_SCHEME = /^[a-z][a-z\d-]*(?:\.[a-z\d-]+)+:$/u;

/** Whether codes may be sent to an address: https, http on the person's own machine, or an installed app's scheme. */
function isRedirect(text: unknown): text is string {
  if (typeof text !== "string" || text.length > LONGEST_REDIRECT) return false;
  const url = /^[!-~]+$/u.test(text) && !text.includes("#") ? URL.parse(text) : null;
  if (url === null || url.username !== "" || url.password !== "") return false;
  if (url.protocol === "https:") return HOST.test(url.hostname);
  if (url.protocol === "http:") return isLoopbackHost(url.hostname);
  return APP_SCHEMES.includes(url.protocol) || DOMAIN_SCHEME.test(url.protocol);
}

/** Reads the metadata that a client registers (RFC 7591). Other requested values are answered, but not used. Throws `OauthError`. */
export function readRegistration(body: unknown): OauthClient {
  const { client_name: given, redirect_uris: redirects } = (body ?? {}) as Record<string, unknown>;
  const isList = Array.isArray(redirects) && redirects.length > 0 && redirects.length <= MOST_REDIRECTS;
  if (!isList || !redirects.every(isRedirect)) {
    throw new OauthError(
      "invalid_redirect_uri",
      `redirect_uris must be a list of 1 to ${MOST_REDIRECTS} addresses, each https, http on this machine itself (127.0.0.1 or localhost), or an installed app's own scheme, of up to 255 characters and without # and user name.`,
    );
  }
  // Without line breaks, invisible or direction-changing characters, or the quotation marks that pages put around it: it is shown
  // as the app's own claim. Trimmed after the cut, because people type it to confirm the end of its access.
  const name = (typeof given === "string" ? given : "")
    .toWellFormed()
    .replaceAll(/[\p{C}\p{Z}\p{DI}\u2800“”]+/gu, " ")
    .trim()
    .slice(0, LONGEST_NAME)
    .toWellFormed()
    .trim();
  return { name: name === "" ? "An app" : name, redirectUris: [...new Set(redirects)] };
}

/**
 * A client's id: its signed registration. So registering stores nothing, however often it is done, and the same client always has
 * the same id (RFC 7591, appendix A.5.2). Throws `OauthError`.
 */
export function clientIdOf({ name, redirectUris }: OauthClient, key: Buffer): string {
  const described = Buffer.from(JSON.stringify([name, ...redirectUris]));
  if (described.length > LONGEST_DESCRIPTION_BYTES)
    throw new OauthError("invalid_client_metadata", "client_name and redirect_uris are too long together.");
  return signed(key, described.toString("base64url"));
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
  const { redirect_uris: listed } = told;
  const usable = Array.isArray(listed) ? listed.filter(isRedirect).slice(0, MOST_REDIRECTS) : listed;
  return readRegistration({ ...told, redirect_uris: usable });
}

export type AppRequest = ReturnType<typeof readRequest>;

/** The access that a client requests, as its page shows it and its form sends it back. Throws `OauthError`. */
export function readRequest(given: URLSearchParams, client: OauthClient, issuer: string) {
  const twice = [...given.keys()].find((name) => given.getAll(name).length > 1);
  if (twice !== undefined) throw wrongRequest(`Its request names ${twice} twice.`);
  const clientId = given.get("client_id") ?? "";
  const redirectUri = given.get("redirect_uri") ?? "";
  if (!hasRedirect(client, redirectUri))
    throw wrongRequest("It has not registered this redirect address (redirect_uri).");
  if (given.get("response_type") !== "code") throw wrongRequest("It must request a code (response_type).");
  const codeChallenge = given.get("code_challenge") ?? "";
  if (given.get("code_challenge_method") !== "S256" || !/^[\w-]{43}$/u.test(codeChallenge))
    throw wrongRequest("It must use PKCE with S256 (code_challenge).");
  if ((given.get("resource") ?? mcpAddress(issuer)) !== mcpAddress(issuer))
    throw wrongRequest(`It requests a service other than ${mcpAddress(issuer)} (resource).`);
  const named = (given.get("scope") ?? "").split(" ");
  const known = SCOPES.filter((scope) => named.includes(scope));
  // With `iss` (RFC 9207).
  const answerTo = new URL(redirectUri);
  answerTo.searchParams.set("iss", issuer);
  const state = given.get("state");
  if (state !== null) answerTo.searchParams.set("state", state);
  return {
    clientHash: hashOf(clientId).toString("hex"),
    name: client.name,
    /** The host that its description is at; null = it registered here. */
    describedAt: isClientAddress(clientId) ? new URL(clientId).host : null,
    redirectUri,
    answerTo: answerTo.href,
    codeChallenge,
    // Some clients request only OpenID scopes: the person chooses.
    scopes: known.length === 0 ? SCOPES : known,
  };
}

/** Whether a client registered an address; on a person's own machine the port is the one that was free (RFC 8252). */
function hasRedirect({ redirectUris }: OauthClient, asked: string): boolean {
  const isLocal = asked.startsWith("http:") && isRedirect(asked);
  return redirectUris.some((each) => each === asked || (isLocal && withoutPort(each) === withoutPort(asked)));
}

function withoutPort(address: string): string {
  const url = new URL(address);
  url.port = "";
  return url.href;
}
