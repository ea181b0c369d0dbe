import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { newSigningSecret, signatureHeaders } from "../src/alerts/delivery/signature.ts";

type Check = (headers: Record<string, string>, body: string, secret: string) => boolean;

/** The program of the guide, unchanged. */
async function checkOfGuide(): Promise<Check> {
  const guide = readFileSync(join(import.meta.dirname, "../docs/guides/alerts.md"), "utf8");
  const program = /^```javascript\n(.*?)^```$/msu.exec(guide)?.[1] ?? "";
  const lines = /^export function[^]*^\}$/mu.exec(program)?.[0].split("\n") ?? [];
  assert.ok(lines.length <= 12, "ten lines and the function around them");
  const address = `data:text/javascript,${encodeURIComponent(program)}`;
  const { isFromReturns } = (await import(address)) as { isFromReturns: Check };
  return isFromReturns;
}

test("the guide's ten lines accept what is signed with either secret, and nothing else", async () => {
  const isFromReturns = await checkOfGuide();
  const [secret, previous, other] = [newSigningSecret(), newSigningSecret(), newSigningSecret()] as const;
  const body = JSON.stringify({ id: "a", title: "Ünï" });
  const message = { messageId: "msg_a_b", sentAt: new Date(), body };
  const headers = signatureHeaders(message, [secret, previous]);
  assert.equal(isFromReturns(headers, body, secret), true);
  assert.equal(isFromReturns(headers, body, previous), true);
  assert.equal(isFromReturns(headers, body, other), false);
  assert.equal(isFromReturns(headers, `${body} `, secret), false);
  assert.equal(isFromReturns({ ...headers, "webhook-id": "msg_a_c" }, body, secret), false);
  assert.equal(isFromReturns({ ...headers, "webhook-signature": "v1,AAAA" }, body, secret), false);
  const old = signatureHeaders({ ...message, sentAt: new Date(Date.now() - 600_000) }, [secret]);
  assert.equal(isFromReturns(old, body, secret), false);
});
