import { OPERATOR } from "./actor.ts";
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { openControlDatabase } from "../../tests/support/control.ts";
import type { ControlDatabase } from "../../tests/support/control.ts";
import { hashSecret, parseToken } from "../admission/token.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import { endToken, issueToken, rotateToken, showTokens } from "./token.ts";
import { createWorkspace, requireWorkspace } from "./workspace.ts";

const pepper = randomBytes(32);
const now = new Date();
const inHours = (hours: number): Date => new Date(now.getTime() + hours * 3_600_000);

let control: ControlDatabase;
let workspace: WorkspaceRow;
let other: WorkspaceRow;
before(async () => {
  control = await openControlDatabase();
  for (const domain of ["tokens.example", "other.example"]) {
    await createWorkspace(control.database, OPERATOR, { domain, currency: "EUR" });
  }
  workspace = await requireWorkspace(control.database, "tokens.example");
  other = await requireWorkspace(control.database, "other.example");
});
after(() => control.stop());

const issue = (name: string, expires?: string) =>
  issueToken(control.database, OPERATOR, workspace, pepper, {
    name,
    scopes: "read:alerts,read:dashboard",
    expires,
    now,
  });

async function statusOf(tokenId: string, at: Date = now): Promise<string | undefined> {
  const tokens = await showTokens(control.database, workspace, at);
  return tokens.find((token) => token.token_id === tokenId)?.status;
}

test("a new token parses, belongs to its workspace, and only its hash is kept", async () => {
  const issued = await issue("analyst", "90d");
  const parsed = parseToken(issued.token);
  assert.equal(parsed?.tokenId, issued.token_id);
  assert.equal(parsed.shopKey, workspace.shop_key);
  const rows = await control.database.rows<{ secret_hash: Buffer; everything: string }>(
    {
      name: "test_token",
      text: "select secret_hash, t::text as everything from api_token t where token_id = $1",
    },
    [issued.token_id],
  );
  assert.deepEqual(rows[0]?.secret_hash, hashSecret(parsed.secret, pepper));
  const traces = JSON.stringify([
    rows,
    await showTokens(control.database, workspace, now),
    await control.audit(),
  ]);
  assert.ok(!traces.includes(parsed.secret));
});

test("a token's name, scopes and expiry are checked, in sentences", async () => {
  const request = { name: "a", scopes: "read:alerts", now };
  const refused: [Partial<typeof request> & { expires?: string }, RegExp][] = [
    [{ name: " " }, /^The name must be text of 1 to 100 characters/u],
    [
      { scopes: "read:alerts,write:all" },
      /^The scopes must be a comma-separated list of read:dashboard, .*"write:all"/u,
    ],
    [{ scopes: "," }, /^The scopes must name at least one of read:dashboard/u],
    [{ expires: "yesterday" }, /^The expiry must be a number of days or hours/u],
  ];
  for (const [change, message] of refused) {
    await assert.rejects(
      issueToken(control.database, OPERATOR, workspace, pepper, { ...request, ...change }),
      {
        kind: "invalid",
        message,
      },
    );
  }
});

test("an expired token is listed as expired", async () => {
  const { token_id: tokenId } = await issue("short", "12h");
  assert.equal(await statusOf(tokenId), "active");
  assert.equal(await statusOf(tokenId, inHours(12)), "expired");
});

test("revoking twice changes nothing the second time", async () => {
  const { token_id: tokenId } = await issue("twice");
  const first = await endToken(control.database, OPERATOR, workspace, { tokenId });
  assert.equal(await statusOf(tokenId), "revoked");
  assert.deepEqual(await endToken(control.database, OPERATOR, workspace, { tokenId }), first);
  const recorded = (await control.audit()).filter(
    (event) => event.action === "token.revoke" && event.detail["token_id"] === tokenId,
  );
  assert.equal(recorded.length, 1);
});

test("a token of another workspace is as unknown as one that never was", async () => {
  const { token_id: tokenId } = await issue("mine");
  await assert.rejects(endToken(control.database, OPERATOR, other, { tokenId }), {
    kind: "impossible",
    message: `The workspace other.example has no token with the id "${tokenId}".`,
  });
  await assert.rejects(endToken(control.database, OPERATOR, other, { tokenId: "0000000000000000" }), {
    kind: "impossible",
  });
  assert.equal(await statusOf(tokenId), "active");
});

test("a rotated token keeps name, scopes and lifetime; the old one ends now, or after the overlap", async () => {
  const old = await issue("rotated", "48h");
  const rotate = (tokenId: string, overlap?: string) =>
    rotateToken(control.database, OPERATOR, workspace, pepper, { tokenId, overlap, now });
  const second = await rotate(old.token_id, "24h");
  assert.deepEqual(second.replaces, { token_id: old.token_id, valid_until: inHours(24) });
  assert.equal(await statusOf(old.token_id, inHours(23)), "active");
  assert.equal(await statusOf(old.token_id, inHours(24)), "expired");

  const third = await rotate(second.token_id);
  assert.equal(await statusOf(second.token_id), "revoked");
  const tokens = await showTokens(control.database, workspace, now);
  const made = tokens.find((token) => token.token_id === third.token_id);
  assert.equal(made?.name, "rotated");
  assert.deepEqual(made.scopes, ["read:dashboard", "read:alerts"]);
  const lifetimeMs = (made.expires_at?.getTime() ?? 0) - now.getTime();
  assert.ok(Math.abs(lifetimeMs - 48 * 3_600_000) < 60_000);
  await assert.rejects(rotate(second.token_id), {
    kind: "impossible",
    message: /is revoked: create a new one/u,
  });
});

test("an overlap does not prolong a token that ends earlier", async () => {
  const old = await issue("ending", "2h");
  const { replaces } = await rotateToken(control.database, OPERATOR, workspace, pepper, {
    tokenId: old.token_id,
    overlap: "7d",
    now,
  });
  assert.deepEqual(replaces.valid_until, inHours(2));
});
