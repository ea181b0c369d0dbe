import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { API_VERSION } from "../contract/endpoint.ts";

/** On every response, including errors: intermediaries must not store copies. */
export const COMMON_HEADERS = {
  "Cache-Control": "private, no-store, no-cache, max-age=0, must-revalidate",
  "CDN-Cache-Control": "no-store",
  "Edge-CDN-Cache-Control": "no-store",
  "Cloudflare-CDN-Cache-Control": "no-store",
  "Vercel-CDN-Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
  "X-Returns-API-Version": API_VERSION,
} as const;

const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/u;

/** The caller's X-Request-ID when it is 1–128 characters of [A-Za-z0-9._:-], otherwise a new one. */
export function requestId(request: IncomingMessage): string {
  const given = request.headers["x-request-id"];
  return typeof given === "string" && REQUEST_ID.test(given) ? given : randomUUID();
}
