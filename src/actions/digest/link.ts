import { createHmac, timingSafeEqual } from "node:crypto";

export const DIGEST_PATH = "/digest";

/** What a link of the weekly digest does, for one member of one workspace. `askedAt`: of the mail that asks, in milliseconds. */
export type DigestLink = { purpose: "confirm" | "stop"; shopKey: number; userId: string; askedAt: number };

const PAYLOAD = /^(confirm|stop)\.(\d{1,16})\.([0-9a-f-]{36})\.(\d{1,16})$/u;

/** The address of a link, signed for this alone. It works without sign-in, and says nothing to anybody else. */
export function digestAddress(key: Buffer, origin: string, link: DigestLink): string {
  const payload = [link.purpose, link.shopKey, link.userId, link.askedAt].join(".");
  return `${origin}${DIGEST_PATH}?link=${payload}.${sign(key, payload)}`;
}

/** null = it was not signed here. */
export function readDigestLink(key: Buffer, given: string): DigestLink | null {
  const [, payload, signature] = /^([\w.-]{1,80})\.([\w-]{43})$/u.exec(given) ?? [];
  if (payload === undefined || signature === undefined) return null;
  const isSigned = timingSafeEqual(Buffer.from(sign(key, payload)), Buffer.from(signature));
  const [, purpose, shopKey, userId = "", askedAt] = PAYLOAD.exec(payload) ?? [];
  if (!isSigned || (purpose !== "confirm" && purpose !== "stop")) return null;
  return { purpose, shopKey: Number(shopKey), userId, askedAt: Number(askedAt) };
}

function sign(key: Buffer, payload: string): string {
  return createHmac("sha256", key).update(payload).digest("base64url");
}
