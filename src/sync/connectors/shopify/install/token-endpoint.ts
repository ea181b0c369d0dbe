import { SourceFailed, SourceRefused } from "../../../connector.ts";
import type { Secrets } from "../../../connector.ts";
import { readText } from "../../kit/source-answer.ts";
import { isObject } from "../../kit/json.ts";
import type { Json } from "../../kit/json.ts";

/** The app that asks: its id is public, its secret is not. */
export type App = { clientId: string; clientSecret: string };

const TIMEOUT_MS = 20_000;
const MAX_ANSWER_BYTES = 1024 * 1024;
const GRANT_STATUSES = new Set([400, 401, 403]);

/**
 * Exchanges the code of a merchant's approval for expiring offline tokens. Throws `SourceRefused` when the platform does
 * not take the code or the app's id and secret, `SourceFailed` when it does not answer as it should.
 */
export async function exchangeCode(url: string, app: App, code: string, now: Date): Promise<Secrets> {
  const answer = await post(
    url,
    { client_id: app.clientId, client_secret: app.clientSecret, code, expiring: "1" },
    "Shopify did not accept the approval: open the address of the app's installation again",
  );
  return readTokens(answer, now);
}

/** Exchanges a refresh token, which is used up by it, for the next tokens. Throws as `exchangeCode`. */
export async function refreshTokens(
  url: string,
  app: App,
  refreshToken: string,
  now: Date,
): Promise<Secrets> {
  const answer = await post(
    url,
    {
      client_id: app.clientId,
      client_secret: app.clientSecret,
      grant_type: "refresh_token",
      refresh_token: refreshToken,
    },
    "Shopify no longer renews the access token of this app: connect the shop again",
  );
  return readTokens(answer, now);
}

async function post(url: string, form: Record<string, string>, refusal: string): Promise<Json> {
  let status: number;
  let text: string;
  try {
    const response = await fetch(`${url}/admin/oauth/access_token`, {
      method: "POST",
      headers: { accept: "application/json" },
      body: new URLSearchParams(form),
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    ({ status } = response);
    text = await readText(response, "Shopify", MAX_ANSWER_BYTES);
  } catch (error) {
    if (error instanceof SourceFailed) throw error;
    throw new SourceFailed(`Shopify does not answer at ${url}.`);
  }
  if (GRANT_STATUSES.has(status)) throw new SourceRefused(`${refusal} (status ${status}).`);
  const answer = status === 200 ? parse(text) : null;
  if (answer === null) throw new SourceFailed(`Shopify answered a request for tokens with status ${status}.`);
  return answer;
}

function parse(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** Lifetimes arrive in seconds; what is kept are moments. A token without a lifetime lasts. */
function readTokens(answer: Json, now: Date): Secrets {
  const { access_token: accessToken, refresh_token: refreshToken } = answer;
  if (typeof accessToken !== "string" || accessToken === "") {
    throw new SourceFailed("Shopify's answer to a request for tokens has no token.");
  }
  if (typeof refreshToken !== "string") return { accessToken };
  return {
    accessToken,
    refreshToken,
    expiresAt: momentIn(answer["expires_in"], now),
    refreshExpiresAt: momentIn(answer["refresh_token_expires_in"], now),
  };
}

function momentIn(seconds: unknown, now: Date): string {
  const lifetimeMs = typeof seconds === "number" && seconds > 0 ? seconds * 1000 : 0;
  return new Date(now.getTime() + lifetimeMs).toISOString();
}
