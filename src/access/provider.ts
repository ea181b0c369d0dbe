import type { authorizationCodeGrant, ClientAuth, CustomFetch } from "openid-client";
import { parsedJson } from "../lib/parsed-json.ts";
import { readAtMost } from "../lib/read-at-most.ts";

/** The options of the environment that name an OpenID Connect provider, and `publicUrl`, where it sends people back to. */
export type ProviderOptions = {
  oidcIssuer: string | null;
  oidcClientId: string | null;
  oidcClientSecret: string | null;
  oidcName: string | null;
  oidcScopes: string;
  oidcGroupsClaim: string;
  oidcOperatorGroup: string | null;
  publicUrl: string | null;
};

/** State of a sign-in, which the browser stores sealed until the provider answers. */
export type Flow = {
  state: string;
  nonce: string;
  verifier: string;
  /** Who is signed in, and confirms who they are or links an account; null for a sign-in. */
  userId: string | null;
  /** The page to open after a confirmation. */
  next: string;
  startedAt: number;
};

/** An account at the provider, from a verified ID token. */
export type ProviderAccount = {
  issuer: string;
  subject: string;
  /** In lower case; null: the token has none. */
  email: string | null;
  isVerified: boolean;
  /** Time of the last authentication at the provider; null if not stated. */
  authenticatedAt: Date | null;
  /** The group of operators, if it is in it; null: it is not. */
  operatorGroup: string | null;
  idToken: string;
};

/** Whether its person has signed in at the provider since they were sent there; null: it does not say. */
export function hasSignedInAgain({ authenticatedAt }: ProviderAccount, startedAt: Date): boolean | null {
  return authenticatedAt && authenticatedAt.getTime() >= startedAt.getTime() - CLOCK_SKEW_MS;
}

/** Why an account at the provider was not accepted, as its person is told; the log has what is wrong with an answer. */
export const PROVIDER_REFUSALS = {
  down: "The identity provider does not answer. Try again in a minute, or sign in another way.",
  denied: "The identity provider did not sign you in.",
  client: "The identity provider does not accept this service: its client id or secret is wrong.",
  invalid:
    "The identity provider’s answer is not valid. Try again; if that does not help, tell the operator of this service, whose log says why.",
  uninvited: "Your account is not linked to anybody here, and no open invitation is for its address.",
  unproven:
    "Your account is not linked to anybody here, and the identity provider has not verified its address.",
  several: "Several invitations are for the address of your account: use the link of the one that you want.",
  taken: "The person whom this invitation is for has linked another account.",
  untimed: "The identity provider did not say when you signed in there.",
  not_again: "You did not sign in again at the identity provider.",
  foreign: "This is not the account that you have linked.",
  elsewhere: "This answer is not for a sign-in that this browser began in the last ten minutes.",
};

export type ProviderRefusal = keyof typeof PROVIDER_REFUSALS;

export type Provider = NonNullable<ReturnType<typeof createProvider>>;

/** The redirect address registered at the provider. */
export const CALLBACK_PATH = "/sign-in/provider/callback";

/** How long metadata and keys are cached; and when they are requested again after a failure. */
const KEPT_MS = 3_600_000;
const RETRY_MS = 10_000;
const TIMEOUT_SECONDS = 5;
/** Of an answer, unpacked: keys and tokens have some thousands. */
const MOST_ANSWER_BYTES = 1024 * 1024;
/** A longer one would not fit into the URL of a sign-out. */
const LONGEST_ID_TOKEN = 6000;

/** null = none is named. Requests the provider's metadata when it is first needed, so the service starts without it. */
export function createProvider(
  options: ProviderOptions,
  log: { warn: (fields: object, message: string) => void },
) {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret: clientSecret, publicUrl } = options;
  if (issuer === null || clientId === null || clientSecret === null || publicUrl === null) return null;
  const name = options.oidcName ?? new URL(issuer).host;
  const redirectUri = publicUrl + CALLBACK_PATH;
  let opened: Promise<Opened | null> | null = null;
  let keptUntil = 0;
  const find = (): Promise<Opened | null> => {
    const now = Date.now();
    if (opened !== null && now < keptUntil) return opened;
    keptUntil = now + KEPT_MS;
    opened = discover(issuer, clientId, clientSecret).catch((error: unknown) => {
      keptUntil = Date.now() + RETRY_MS;
      log.warn({ err: error }, "the identity provider of OIDC_ISSUER cannot be used");
      return null;
    });
    return opened;
  };
  return {
    name,
    issuer,
    /** The URL to open, and the state to store; null: the provider does not answer. */
    begin: async (started: Pick<Flow, "userId" | "next" | "startedAt">) => {
      const found = await find();
      if (found === null) return null;
      const { client, config } = found;
      const flow = {
        ...started,
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
      };
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: options.oidcScopes,
        state: flow.state,
        nonce: flow.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(flow.verifier),
        code_challenge_method: "S256",
        ...(flow.userId === null ? {} : { prompt: "login", max_age: "0" }),
      });
      return { url: url.href, flow };
    },
    /** Exchanges the code of an answer for a verified account; `query` begins with "?". */
    finish: async (
      query: string,
      { state, nonce, verifier }: Flow,
    ): Promise<ProviderAccount | { outcome: ProviderRefusal; userId: null }> => {
      const found = await find();
      if (found === null) return { outcome: "down", userId: null };
      try {
        const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier };
        const url = new URL(redirectUri + query);
        const tokens = await found.client.authorizationCodeGrant(found.config, url, checks);
        return await readAccount(options, found, tokens);
      } catch (error) {
        const problem = problemOf(error);
        log.warn({ err: error, problem }, "a sign-in at the identity provider was refused");
        return { outcome: problem, userId: null };
      }
    },
    /** The URL that also ends the person's session at the provider; null if it has none. Another provider's token is left out. */
    signOutUrl: async (idToken: string): Promise<string | null> => {
      const found = await find();
      if (found?.config.serverMetadata().end_session_endpoint === undefined) return null;
      return found.client.buildEndSessionUrl(found.config, {
        ...(issuerOf(idToken) === found.config.serverMetadata().issuer ? { id_token_hint: idToken } : {}),
        post_logout_redirect_uri: `${publicUrl}/sign-in`,
      }).href;
    },
  };
}

/** The issuer that a verified ID token names; undefined: it is none, such as "". */
function issuerOf(idToken: string): unknown {
  const claims = parsedJson(Buffer.from(idToken.split(".")[1] ?? "", "base64url").toString());
  return (claims as { iss?: unknown } | undefined)?.iss;
}

type Opened = Awaited<ReturnType<typeof discover>>;

/** The library, which the first sign-in imports, and what it found out about the provider. */
async function discover(issuer: string, clientId: string, clientSecret: string) {
  const client = await import("openid-client");
  const authenticate: ClientAuth = (server, ...rest) => {
    const isBasic = server.token_endpoint_auth_methods_supported?.includes("client_secret_basic") ?? true;
    return client[isBasic ? "ClientSecretBasic" : "ClientSecretPost"](clientSecret)(server, ...rest);
  };
  const isPlain = issuer.startsWith("http:");
  const config = await client.discovery(new URL(issuer), clientId, {}, authenticate, {
    timeout: TIMEOUT_SECONDS,
    [client.customFetch]: fetchShort,
    execute: [client.enableNonRepudiationChecks, ...(isPlain ? [client.allowInsecureRequests] : [])],
  });
  const metadata = config.serverMetadata();
  // The library accepts the multi-tenant issuer of some providers, where any tenant could claim any address as verified.
  if (metadata.issuer.replace(/\/$/u, "") !== issuer.replace(/\/$/u, "")) {
    throw new Error(`OIDC_ISSUER must be the issuer itself, ${metadata.issuer}`);
  }
  const { authorization_endpoint: begins = "", end_session_endpoint: ends = begins } = metadata;
  for (const address of [begins, ends]) {
    // Browsers are sent there.
    if (!/^https?:$/u.test(URL.parse(address)?.protocol ?? ""))
      throw new Error(`the metadata of OIDC_ISSUER names no address to send browsers to: ${address}`);
  }
  return { client, config };
}

/** The library would read an answer of any length into memory. */
const fetchShort: CustomFetch = async (url, options) => {
  const response = await fetch(url, options as RequestInit);
  if (response.body === null) return response;
  const bytes = await readAtMost(response.body, MOST_ANSWER_BYTES);
  if (bytes === null) throw new RangeError(`the answer has more than ${MOST_ANSWER_BYTES} bytes`);
  return new Response(bytes.length === 0 ? null : bytes, response);
};

/** Claims of scopes are in the ID token, or otherwise in the answer of the UserInfo endpoint (OpenID Connect Core, 5.4). */
async function readAccount(
  { oidcGroupsClaim: groupsClaim, oidcOperatorGroup: operatorGroup }: ProviderOptions,
  { client, config }: Opened,
  tokens: Awaited<ReturnType<typeof authorizationCodeGrant>>,
): Promise<ProviderAccount> {
  const token = tokens.claims();
  if (token === undefined || !SUBJECT.test(token.sub))
    throw new Error("there is no ID token, or its subject is not 1 to 255 characters of ASCII");
  const { issuer, userinfo_endpoint: endpoint } = config.serverMetadata();
  const isWhole =
    token["email"] !== undefined && (operatorGroup === null || token[groupsClaim] !== undefined);
  const asked =
    isWhole || endpoint === undefined
      ? {}
      : await client.fetchUserInfo(config, tokens.access_token, token.sub);
  const claims: Readonly<Record<string, unknown>> = token["email"] === undefined ? asked : token;
  const groups = token[groupsClaim] ?? (asked as Readonly<Record<string, unknown>>)[groupsClaim];
  const idToken = tokens.id_token ?? "";
  return {
    issuer,
    subject: token.sub,
    email: readEmail(claims["email"]),
    isVerified: claims["email_verified"] === true,
    authenticatedAt: readPast(token.auth_time),
    operatorGroup: Array.isArray(groups) && groups.includes(operatorGroup) ? operatorGroup : null,
    idToken: idToken.length > LONGEST_ID_TOKEN ? "" : idToken,
  };
}

/** As OpenID Connect Core, 2, has them: the database could take other texts for one another. */
const SUBJECT = /^[ -~]{1,255}$/u;

/** By how much the clocks of a provider and this service may differ. */
const CLOCK_SKEW_MS = 30_000;

/** A time in seconds; null = none, or one to come, which would count as fresh until long after. */
function readPast(seconds: unknown): Date | null {
  const isPast = typeof seconds === "number" && seconds >= 0 && seconds * 1000 <= Date.now() + CLOCK_SKEW_MS;
  return isPast ? new Date(seconds * 1000) : null;
}

/** ASCII only: other letters look like these, or become one of them in lower case. */
const EMAIL = /^[!-?A-~]{1,64}@[\w.-]{1,189}$/u;

/** An e-mail address in lower case; null if the text is none. */
export function readEmail(text: unknown): string | null {
  return typeof text === "string" && EMAIL.test(text) ? text.toLowerCase() : null;
}

/** What the person is told of a failure, by the words of the library's error; a failed request is a TypeError. */
function problemOf(error: unknown): ProviderRefusal {
  const { name, code, error: stated, cause } = error as Error & { code?: string; error?: string };
  const text = [name, code, stated, cause instanceof Response ? cause.status : ""].join(" ");
  return PROBLEMS.find(([words]) => words.test(text))?.[1] ?? "invalid";
}

const PROBLEMS: readonly (readonly [words: RegExp, ProviderRefusal])[] = [
  [/^TypeError |OAUTH_TIMEOUT| 5\d\d$/u, "down"],
  [/AUTHORIZATION_RESPONSE_ERROR (?:temporarily_unavailable|server_error) /u, "down"],
  [/AUTHORIZATION_RESPONSE_ERROR (?:access_denied|\w+_required) /u, "denied"],
  [/RESPONSE_BODY_ERROR (?:invalid|unauthorized)_client /u, "client"],
];
