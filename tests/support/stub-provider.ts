import { generateKeyPairSync, sign } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

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
  /** What it was asked for tokens. */
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
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
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
