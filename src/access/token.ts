import { createHmac, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import { rememberLast } from "../lib/remember-last.ts";

// rta_live_<token id: 11 digits of shop key, 5 random><secret: 43><crc: 6>, all in base 62. With fixed widths, a secret scanner
// needs one regular expression, and the checksum is tested before any look-up.
export const TOKEN_PATTERN = /^rta_live_([0-9A-Za-z]{16})([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/u;
const PREFIX = "rta_live_";
const SHOP_KEY_DIGITS = 11;
const TOKEN_ID_RANDOM_DIGITS = 5;
const SECRET_DIGITS = 43;
const CHECKSUM_DIGITS = 6;

/** The parts of a well-formed token, before any look-up. */
export type ParsedToken = { shopKey: number; tokenId: string; secret: string };

/** A new token: `token` is shown once, `tokenId` and `secretHash` are kept. */
type NewToken = { token: string; tokenId: string; secretHash: Buffer };

/** Makes a token of 256 random bits for a workspace. */
export function createToken(shopKey: number, pepper: Buffer): NewToken {
  const random = toBase62(randomNumber(8) % 62n ** BigInt(TOKEN_ID_RANDOM_DIGITS), TOKEN_ID_RANDOM_DIGITS);
  return renewToken(shopKeyDigits(shopKey) + random, pepper);
}

/** Another secret of a token id: the token before it ends with its hash. */
export function renewToken(tokenId: string, pepper: Buffer): NewToken {
  const secret = toBase62(randomNumber(32), SECRET_DIGITS);
  const body = PREFIX + tokenId + secret;
  return { token: body + checksum(body), tokenId, secretHash: keyedHash(secret, pepper) };
}

/** The digits after `rta_live_` in every token of a workspace. Their text order is the order of the keys. */
export function shopKeyDigits(shopKey: number): string {
  return toBase62(BigInt(shopKey), SHOP_KEY_DIGITS);
}

/** Reads a token; null when its form or checksum is wrong. Costs no database read. */
export function parseToken(token: string): ParsedToken | null {
  const match = TOKEN_PATTERN.exec(token);
  if (match === null) return null;
  const [, tokenId = "", secret = "", sum = ""] = match;
  if (checksum(PREFIX + tokenId + secret) !== sum) return null;
  const shopKey = shopKeyOfTokenId(tokenId);
  return shopKey === null ? null : { shopKey, tokenId, secret };
}

/** The shop key in a token id, or null when it is no positive whole number of up to 2^53 - 1. */
export function shopKeyOfTokenId(tokenId: string): number | null {
  return shopKeyOfDigits(tokenId.slice(0, SHOP_KEY_DIGITS));
}

// Requests of one workspace arrive consecutively.
const shopKeyOfDigits = rememberLast((digits: string): number | null => {
  const shopKey = Number(fromBase62(digits));
  return shopKey > 0 && Number.isSafeInteger(shopKey) ? shopKey : null;
});

/**
 * The stored form of a secret: HMAC-SHA-256 under the server's pepper. Comparing hashes leaks no useful timing: without the
 * pepper an attacker cannot choose a hash's first bytes.
 */
export function keyedHash(secret: string, pepper: Buffer): Buffer {
  return createHmac("sha256", pepper).update(secret).digest();
}

function checksum(body: string): string {
  let text = "";
  for (let rest = crc32(body); rest > 0; rest = Math.floor(rest / 62)) text = `${DIGITS[rest % 62]}${text}`;
  return text.padStart(CHECKSUM_DIGITS, "0");
}

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

function toBase62(value: bigint, width: number): string {
  let text = "";
  for (let rest = value; rest > 0n; rest /= 62n) text = DIGITS[Number(rest % 62n)] + text;
  return text.padStart(width, "0");
}

function fromBase62(text: string): bigint {
  let value = 0n;
  for (const digit of text) value = value * 62n + BigInt(DIGITS.indexOf(digit));
  return value;
}

function randomNumber(bytes: number): bigint {
  return BigInt(`0x${randomBytes(bytes).toString("hex")}`);
}

/** How a token begins, for people who look for it. */
export function tokenPrefix(tokenId: string): string {
  return `rta_live_${tokenId}…`;
}
