import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { runAction } from "../../src/actions/action.ts";
import { OPERATOR } from "../../src/actions/actor.ts";
import { textInput } from "../../src/actions/field.ts";
import { inviteMember } from "../../src/actions/members/actions.ts";
import { requireWorkspace } from "../../src/actions/workspace/workspace.ts";
import { postForm } from "./console-person.ts";
import { freePort } from "./free-port.ts";
import { send, type TestService, type WireAnswer } from "./service.ts";
import type { Tenant } from "./tenants.ts";

export type Claims = Record<string, unknown>;

const KEYS = generateKeyPairSync("rsa", { modulusLength: 2048 });
export const OTHER_KEYS = generateKeyPairSync("rsa", { modulusLength: 2048 });
export const CLIENT = { id: "returns", secret: "a secret with : and /" };

/** What the token endpoint answers. */
export type Answer = {
  hasToken?: false;
  claims?: Claims;
  userInfo?: Claims;
  alg?: string;
  key?: typeof KEYS;
  error?: [status: number, code: string];
};

export type StubProvider = {
  issuer: string;
  metadata: Claims;
  next: Answer;
  isDown: boolean;
  /** The requests for tokens that it received. */
  asked: { form: URLSearchParams; authorization: string }[];
  stop(): void;
};

const base64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

function signed({ claims = {}, alg = "RS256", key = KEYS }: Answer): string {
  const text = `${base64({ alg, kid: "1" })}.${base64(claims)}`;
  if (alg === "none") return `${text}.`;
  return `${text}.${sign("sha256", Buffer.from(text), key.privateKey).toString("base64url")}`;
}

/** An OpenID Connect provider with configurable answers, valid or not; a code works once. */
export async function startStubProvider(): Promise<StubProvider> {
  const used = new Set<string>();
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => (body += String(part)));
    request.on("end", () => {
      if (stub.isDown) return request.socket.destroy();
      const { status, json } = answerTo(request.url ?? "", body, request.headers.authorization ?? "");
      return response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(json));
    });
  });
  // If no service starts, nothing would stop it.
  await once(server.listen(0, "127.0.0.1").unref(), "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stub: StubProvider = {
    issuer,
    metadata: {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/userinfo`,
      jwks_uri: `${issuer}/jwks`,
      end_session_endpoint: `${issuer}/end`,
      id_token_signing_alg_values_supported: ["RS256", "none"],
      authorization_response_iss_parameter_supported: true,
    },
    next: {},
    isDown: false,
    asked: [],
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };

  function answerTo(url: string, body: string, authorization: string): { status: number; json: object } {
    const { next } = stub;
    const ok = (json: object): { status: number; json: object } => ({ status: 200, json });
    if (url.endsWith("openid-configuration")) return ok(stub.metadata);
    if (url === "/jwks") {
      return ok({ keys: [{ ...KEYS.publicKey.export({ format: "jwk" }), kid: "1", use: "sig" }] });
    }
    if (url === "/userinfo") return ok(next.userInfo ?? { sub: next.claims?.["sub"] });
    const form = new URLSearchParams(body);
    stub.asked.push({ form, authorization });
    if (next.error !== undefined) return { status: next.error[0], json: { error: next.error[1] } };
    const code = form.get("code") ?? "";
    if (used.has(code)) return { status: 400, json: { error: "invalid_grant" } };
    used.add(code);
    const token = next.hasToken === false ? {} : { id_token: signed(next) };
    return ok({ access_token: "x", token_type: "Bearer", ...token });
  }

  return stub;
}

/** Options of a service whose members may sign in at the provider, for a port of its own. */
export async function providerOptions(issuer: string): Promise<Record<string, string>> {
  const port = await freePort();
  return {
    PORT: String(port),
    PUBLIC_URL: `http://localhost:${port}`,
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: CLIENT.id,
    OIDC_CLIENT_SECRET: CLIENT.secret,
    OIDC_NAME: "Acme",
    OIDC_OPERATOR_GROUP: "ops",
    TRUSTED_PROXIES: "127.0.0.1",
  };
}

/** A sign-in that a browser has begun: where it is sent, and its cookies. */
export type Started = { url: URL; cookie: string; state: string; nonce: string };

/** The answer to a form that starts a sign-in at the provider: a page that redirects there, and the browser's cookie. */
export async function beginAt(
  service: TestService,
  path = "/sign-in/provider",
  cookie = "",
  fields: Record<string, string> = {},
): Promise<Started> {
  const response = await postForm(service, path, fields, { cookie });
  const [, address = ""] = (response.headers.get("refresh") ?? "").split("url=");
  assert.equal(response.status, 200, response.text);
  const url = new URL(address);
  const flow = response.headers.getSetCookie().find((each) => each.startsWith("returns-provider=")) ?? "";
  assert.match(flow, /; HttpOnly; SameSite=Lax/u);
  const param = (name: string): string => url.searchParams.get(name) ?? "";
  return { url, cookie: `${cookie}; ${flow.split(";")[0]}`, state: param("state"), nonce: param("nonce") };
}

let codes = 0;
let addresses = 0;

/** The browser's return from the provider, each from a different address. */
export async function comeBackTo(
  service: TestService,
  issuer: string,
  started: Started,
  change: Record<string, string | null> = {},
): Promise<WireAnswer> {
  const query = new URLSearchParams({ code: `code-${(codes += 1)}`, state: started.state, iss: issuer });
  for (const [name, value] of Object.entries(change))
    if (value === null) query.delete(name);
    else query.set(name, value);
  return send(`${service.address}/sign-in/provider/callback?${query.toString()}`, {
    headers: { cookie: started.cookie, "x-forwarded-for": `10.1.0.${(addresses += 1) % 250}` },
  });
}

/** The claims of a valid ID token, with the test's changes. */
export function claimsOf(issuer: string, { nonce }: Started, change: Claims = {}): Claims {
  const now = Math.floor(Date.now() / 1000);
  return {
    iss: issuer,
    sub: "nobody",
    aud: CLIENT.id,
    nonce,
    iat: now,
    exp: now + 300,
    auth_time: now,
    email: "nobody@acme.example",
    email_verified: true,
    ...change,
  };
}

export const sentenceOf = ({ text }: WireAnswer): string =>
  /role="alert"[^>]*>\s*([^<]*?)\s*</u.exec(text)?.[1] ?? "no sentence";

export const sessionOf = ({ headers }: WireAnswer): string =>
  headers
    .getSetCookie()
    .find((each) => each.startsWith("returns="))
    ?.split(";")[0] ?? "";

/** Invites an admin, whose verified address at the provider may use the invitation; returns their id. */
export async function inviteAt(
  service: TestService,
  { shopDomain }: Tenant,
  invited: { name: string; email: string },
): Promise<string> {
  const { database } = service.installation;
  const workspace = await requireWorkspace(database, shopDomain);
  const consoleOrigin = (): string => service.address;
  const caller = { database, actor: OPERATOR, now: new Date(), workspace, consoleOrigin };
  const input = textInput({ ...invited, role: "admin" });
  const { result } = await runAction(inviteMember, caller as never, input);
  return (result as { user_id: string }).user_id;
}
