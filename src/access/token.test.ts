import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { TOKEN_PATTERN, createToken, keyedHash, parseToken, shopKeyOfTokenId } from "./token.ts";

const pepper = Buffer.alloc(32, 7);
const shopKeys = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });

describe("a token", () => {
  test("contains its shop and its id, and only a hash of its secret is stored", () => {
    fc.assert(
      fc.property(shopKeys, (shopKey) => {
        const made = createToken(shopKey, pepper);
        const parsed = parseToken(made.token);
        assert.ok(parsed);
        assert.deepEqual([parsed.shopKey, parsed.tokenId], [shopKey, made.tokenId]);
        assert.deepEqual(keyedHash(parsed.secret, pepper), made.secretHash);
        assert.ok(!made.token.includes(made.secretHash.toString("hex")));
        assert.ok(!made.tokenId.includes(parsed.secret));
      }),
    );
  });

  test("has the form that secret scanners look for, and 256 random bits", () => {
    const { token } = createToken(1, pepper);
    assert.match(token, TOKEN_PATTERN);
    assert.match(token, /^rta_live_[0-9A-Za-z]{65}$/u);
    const secrets = new Set(
      Array.from({ length: 200 }, () => parseToken(createToken(1, pepper).token)?.secret),
    );
    assert.equal(secrets.size, 200);
    assert.ok(62n ** 43n >= 2n ** 256n, "the secret's digits hold 256 bits");
  });

  test("is refused when any one character is another, missing or doubled", () => {
    const { token } = createToken(42, pepper);
    for (let index = 0; index < token.length; index++) {
      const other = token[index] === "x" ? "y" : "x";
      const changed = [
        token.slice(0, index) + other + token.slice(index + 1),
        token.slice(0, index) + token.slice(index + 1),
        token.slice(0, index) + token[index] + token.slice(index),
      ];
      for (const text of changed) assert.equal(parseToken(text), null, text);
    }
  });

  test("is refused in other letters, with blanks around it, and as something else", () => {
    const { token } = createToken(42, pepper);
    const others = [
      token.toUpperCase(),
      ` ${token}`,
      `${token} `,
      `${token}\n`,
      token.replace("live", "test"),
    ];
    for (const text of [...others, "", "rta_live_", "Bearer", "é".repeat(74)]) {
      assert.equal(parseToken(text), null, JSON.stringify(text));
    }
  });

  test("is refused when its shop key is 0 or above 2^53 - 1, although the checksum is right", () => {
    for (const digits of ["00000000000", "zzzzzzzzzzz", "00fFgnDxSe8", "AzL8n0Y58m7"]) {
      assert.equal(parseToken(withChecksum(`rta_live_${digits}00000${"0".repeat(43)}`)), null);
    }
    assert.ok(parseToken(withChecksum(`rta_live_00fFgnDxSe700000${"0".repeat(43)}`)));
  });
});

test("a token id alone gives the shop's key, up to the largest that a number holds", () => {
  assert.equal(shopKeyOfTokenId("0000000000100000"), 1);
  assert.equal(shopKeyOfTokenId("00fFgnDxSe7zzzzz"), Number.MAX_SAFE_INTEGER);
  assert.equal(shopKeyOfTokenId("00fFgnDxSe8zzzzz"), null);
  assert.equal(shopKeyOfTokenId("0000000000000000"), null);
});

test("the stored hash depends on the pepper, so that a stolen table is useless", () => {
  assert.notDeepEqual(keyedHash("secret", pepper), keyedHash("secret", randomBytes(32)));
  assert.equal(keyedHash("secret", pepper).length, 32);
});

/** The checksum of the format, worked out apart from the code: CRC-32 in six digits of base 62. */
function withChecksum(body: string): string {
  const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  let text = "";
  for (let rest = crc32(body); rest > 0; rest = Math.floor(rest / 62)) text = `${digits[rest % 62]}${text}`;
  return body + text.padStart(6, "0");
}
