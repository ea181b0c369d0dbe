import { createHmac, timingSafeEqual } from "node:crypto";

/** A text and its signature for one purpose, for addresses and browsers to keep in this service's place. */
export function signed(key: Buffer, payload: string, context = ""): string {
  const signature = createHmac("sha256", key).update(context).update(payload).digest("base64url");
  return `${payload}.${signature}`;
}

/** The text without its signature; null: this key did not sign it, or not for this purpose. */
export function readSigned(key: Buffer, text: string, context = ""): string | null {
  const payload = text.slice(0, Math.max(0, text.lastIndexOf(".")));
  const [given, expected] = [Buffer.from(text), Buffer.from(signed(key, payload, context))];
  return given.length === expected.length && timingSafeEqual(given, expected) ? payload : null;
}
