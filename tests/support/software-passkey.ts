import assert from "node:assert/strict";
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { isoCBOR } from "@simplewebauthn/server/helpers";
import { postForm } from "./console-person.ts";
import type { TestService } from "./service.ts";
import { insertRows } from "./tenants.ts";

/** The answer to a challenge as a form sends it, or as a test changes what the device says of itself. */
export type SoftwarePasskey = (
  challenge: string,
  change?: { origin?: string; flags?: number; counter?: number; userHandle?: string },
) => string;

/** Somebody is there, and was verified by a fingerprint, face or PIN. */
const PRESENT_AND_VERIFIED = 5;
export const PRESENT = 1;

const sha256 = (data: string | Buffer): Buffer => createHash("sha256").update(data).digest();

/** The headers of a page at http://localhost: passkeys do not work on an IP address. */
export function onLocalhost({ address }: Pick<TestService, "address">): Record<string, string> {
  const origin = address.replace("127.0.0.1", "localhost");
  return { host: new URL(origin).host, origin };
}

/** What the service asks a device to sign. */
export async function challengeOf(
  service: TestService,
  headers: Record<string, string> = {},
  path = "/sign-in/options",
): Promise<string> {
  const { status, text } = await postForm(service, path, {}, { ...onLocalhost(service), ...headers });
  assert.equal(status, 200, text);
  return (JSON.parse(text) as { challenge: string }).challenge;
}

/** A passkey of a person on localhost, as its device holds it. */
export async function createPasskey(service: TestService, userId: string): Promise<SoftwarePasskey> {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { x = "", y = "" } = publicKey.export({ format: "jwk" });
  const cose = new Map<number, unknown>([
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, new Uint8Array(Buffer.from(x, "base64url"))],
    [-3, new Uint8Array(Buffer.from(y, "base64url"))],
  ]);
  const id = sha256(userId);
  await insertRows(service.database, "console_passkey", [
    {
      credential_id: `\\x${id.toString("hex")}`,
      user_id: userId,
      rp_id: "localhost",
      public_key: `\\x${Buffer.from(isoCBOR.encode(cose as never)).toString("hex")}`,
      counter: 0,
      transports: [],
      name: "Test",
      created_at: new Date(),
    },
  ]);
  const own = onLocalhost(service)["origin"];
  return (challenge, { origin = own, flags = PRESENT_AND_VERIFIED, counter = 0, userHandle } = {}) => {
    const clientData = Buffer.from(JSON.stringify({ type: "webauthn.get", challenge, origin }));
    const said = Buffer.alloc(5);
    said.writeUInt8(flags, 0);
    said.writeUInt32BE(counter, 1);
    const authenticatorData = Buffer.concat([sha256("localhost"), said]);
    const signed = Buffer.concat([authenticatorData, sha256(clientData)]);
    const text = id.toString("base64url");
    return JSON.stringify({
      id: text,
      rawId: text,
      type: "public-key",
      clientExtensionResults: {},
      response: {
        clientDataJSON: clientData.toString("base64url"),
        authenticatorData: authenticatorData.toString("base64url"),
        signature: sign("sha256", signed, privateKey).toString("base64url"),
        userHandle,
      },
    });
  };
}
