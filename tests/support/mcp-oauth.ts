import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { newSecret } from "../../src/access/secret.ts";
import { createSession, setRole } from "./people.ts";
import { startTestService, type TestService } from "./service.ts";
import { freePort } from "./free-port.ts";
import { MCP_PATH, post, rpc } from "./mcp.ts";
import type { Tenant } from "./tenants.ts";

/** A service whose address on this machine is known before it starts. */
export async function startOauthService(
  options: Record<string, string> = {},
): Promise<TestService & { issuer: string }> {
  const port = await freePort();
  const issuer = `http://localhost:${port}`;
  return {
    ...(await startTestService({
      PORT: String(port),
      PUBLIC_URL: issuer,
      TRUSTED_PROXIES: "127.0.0.1,::1",
      ...options,
    })),
    issuer,
  };
}

export type Member = { userId: string; cookie: string };

/** A person who has just signed in, and is a member of these workspaces. */
export async function createMember(
  { database }: TestService,
  tenants: readonly Tenant[],
  role: "viewer" | "admin" | "owner" = "owner",
): Promise<Member> {
  const name = `member-${randomBytes(4).toString("hex")}`;
  const { rows } = await database.query<{ user_id: string }>(
    "insert into console_user (name) values ($1) returning user_id",
    [name],
  );
  const userId = rows[0]?.user_id ?? "";
  for (const tenant of tenants) await setRole(database, tenant, { userId }, role);
  const { text, hash } = newSecret();
  await createSession(database, userId, { sessionHash: hash });
  return { userId, cookie: `returns=${text}` };
}

export const CALLBACK = "http://127.0.0.1:49152/callback";

/** The address of the consent page, of the person's only workspace or of one that they choose. */
export const PAGE = /^\/w(?:\/([^/?]+)|\?page=)\/settings\/tokens\/connect\?request=([\w-]+)$/u;

/** An app that a test drives by hand. */
export class App {
  readonly issuer: string;
  readonly clientId: string;
  readonly verifier = randomBytes(32).toString("base64url");

  constructor(issuer: string, clientId: string) {
    this.issuer = issuer;
    this.clientId = clientId;
  }

  /** The query of its request for consent, with the test's changes; null leaves a parameter out. */
  query(change: Record<string, string | null> = {}): string {
    const all: Record<string, string | null> = {
      response_type: "code",
      client_id: this.clientId,
      redirect_uri: CALLBACK,
      code_challenge: createHash("sha256").update(this.verifier).digest("base64url"),
      code_challenge_method: "S256",
      state: "of the app",
      scope: "read:dashboard read:alerts",
      resource: `${this.issuer}${MCP_PATH}`,
      ...change,
    };
    const given = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== null);
    return new URLSearchParams(given).toString();
  }

  /** Opens an address of the service, which may lead on to another. */
  open(address: string, cookie: string): Promise<Response> {
    return fetch(this.issuer + address, { redirect: "manual", headers: { cookie } });
  }

  /** Where its request leads a person. */
  lead(query: string, cookie: string): Promise<Response> {
    return this.open(`/oauth/authorize?${query}`, cookie);
  }

  /** The answer to its request; if that redirects to a workspace's page or to the list of workspaces, that page. */
  async ask(
    query: string,
    cookie = "",
  ): Promise<{ status: number; location: string | null; headers: Headers; text: string }> {
    const first = await this.lead(query, cookie);
    const led = first.headers.get("location");
    const response = led?.startsWith("/w") === true ? await this.open(led, cookie) : first;
    const { status, headers } = response;
    return { status, location: headers.get("location"), headers, text: await response.text() };
  }

  /** Sends the form of the consent page, for the chosen workspace if the person has several. */
  async decide(
    cookie: string,
    fields: Record<string, string | readonly string[]>,
    headers: Record<string, string> = { origin: this.issuer },
  ): Promise<{ status: number; location: string; text: string }> {
    const { request = this.query(), workspace, decision = "allow", ...rest } = fields;
    const asked = await this.lead(String(request), cookie);
    const [location, text] = [asked.headers.get("location") ?? "", await asked.text()];
    const [, only, sealed] = PAGE.exec(decodeURIComponent(location)) ?? [];
    if (sealed === undefined) return { status: asked.status, location, text };
    const chosen = workspace === undefined ? only : encodeURIComponent(String(workspace));
    return this.send(`/w/${chosen}/settings/tokens/connect${decision === "deny" ? "/deny" : ""}`, {
      cookie,
      headers,
      fields: { scopes: ["read:dashboard", "read:alerts"], ...rest, request: sealed },
    });
  }

  /** A form of that page. */
  async send(
    path: string,
    {
      cookie,
      headers = { origin: this.issuer },
      fields,
    }: {
      cookie: string;
      headers?: Record<string, string>;
      fields: Record<string, string | readonly string[]>;
    },
  ): Promise<{ status: number; location: string; text: string }> {
    const body = new URLSearchParams();
    for (const [name, value] of Object.entries(fields))
      for (const each of [value].flat()) body.append(name, each);
    const response = await fetch(this.issuer + path, {
      method: "POST",
      redirect: "manual",
      headers: { cookie, ...headers },
      body,
    });
    return {
      status: response.status,
      location: response.headers.get("location") ?? "",
      text: await response.text(),
    };
  }

  /** A person's consent; returns the code. */
  async consent(cookie: string, tenant: Tenant): Promise<string> {
    const { status, location, text } = await this.decide(cookie, { workspace: tenant.shopDomain });
    assert.equal(status, 303, text);
    const code = new URL(location).searchParams.get("code");
    assert.ok(code, location);
    return code;
  }

  exchange(code: string, change: Record<string, string> = {}): Promise<TokenAnswer> {
    return this.post("/oauth/token", {
      grant_type: "authorization_code",
      code,
      redirect_uri: CALLBACK,
      code_verifier: this.verifier,
      ...change,
    });
  }

  refresh(refreshToken: string, change: Record<string, string> = {}): Promise<TokenAnswer> {
    return this.post("/oauth/token", { grant_type: "refresh_token", refresh_token: refreshToken, ...change });
  }

  async post(path: string, fields: Record<string, string>): Promise<TokenAnswer> {
    const response = await fetch(this.issuer + path, {
      method: "POST",
      body: new URLSearchParams({ client_id: this.clientId, ...fields }),
    });
    const text = await response.text();
    return { status: response.status, ...(text === "" ? {} : (JSON.parse(text) as object)) } as TokenAnswer;
  }

  /** The status of an MCP request with a token. */
  async call(token: string): Promise<number> {
    return (await post(this.issuer, rpc("tools/list"), { token })).status;
  }
}

/** The app's redirect address; it redirects to a page of another origin, as many do. */
export async function openCallback(
  context: TestContext,
): Promise<{ url: string; answer: Promise<URLSearchParams> }> {
  const { promise, resolve } = Promise.withResolvers<URLSearchParams>();
  const end = createServer((_request, response) => {
    response.setHeader("content-type", "text/html").end("<title>Back in the app</title>");
  });
  const server = createServer((request, response) => {
    resolve(new URL(request.url ?? "", "http://localhost").searchParams);
    response.writeHead(302, { location: `http://127.0.0.1:${(end.address() as AddressInfo).port}/` }).end();
  });
  end.listen(0, "127.0.0.1");
  await once(end, "listening");
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => {
    for (const each of [server, end]) {
      each.closeAllConnections();
      each.close();
    }
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/callback`, answer: promise };
}

/** The sign-in data that an SDK's transport stores; `asked`: the page to which it sends the person. */
export function createProvider(redirectUrl: string) {
  const kept: { client?: never; tokens?: never; verifier?: string; asked?: URL } = {};
  return {
    kept,
    redirectUrl,
    clientMetadata: {
      client_name: "Notebook",
      redirect_uris: [redirectUrl],
      token_endpoint_auth_method: "client_secret_post",
    },
    state: () => "state of the app",
    clientInformation: () => kept.client,
    saveClientInformation: (client: unknown) => void (kept.client = client as never),
    tokens: () => kept.tokens,
    saveTokens: (tokens: unknown) => void (kept.tokens = tokens as never),
    redirectToAuthorization: (url: URL) => void (kept.asked = url),
    saveCodeVerifier: (verifier: string) => void (kept.verifier = verifier),
    codeVerifier: () => kept.verifier ?? "",
  };
}

export type TokenAnswer = {
  status: number;
  error?: string;
  error_description?: string;
  access_token: string;
  refresh_token: string;
  scope: string;
  expires_in: number;
  token_type: string;
};

let asked = 0;

/** Registers metadata unchanged, by default from a different address each time. */
export async function register(
  issuer: string,
  body: unknown,
  from = `10.0.${Math.floor((asked += 1) / 250)}.${asked % 250}`,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${issuer}/oauth/register`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-forwarded-for": from },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

export async function createApp(issuer: string, name = "Notebook", callback = CALLBACK): Promise<App> {
  const { status, body } = await register(issuer, { client_name: name, redirect_uris: [callback] });
  assert.equal(status, 201, JSON.stringify(body));
  return new App(issuer, String(body["client_id"]));
}
