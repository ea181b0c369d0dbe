import assert from "node:assert/strict";
import { test } from "node:test";
import { openControlDatabase } from "../../../tests/support/control.ts";
import { keyedHash, parseToken } from "../../access/token.ts";
import type { DirectoryRow } from "../../store/queries/workspace-directory.ts";
import { OPERATOR } from "../actor.ts";
import { openTestKeys } from "../../../tests/support/secret.ts";
import { makeWorkspace } from "../../../tests/support/workspace.ts";
import type { Keys } from "../../lib/keys.ts";
import { readList, runAction, type Action } from "../action.ts";
import { textInput, type Fields } from "../field.ts";
import { setWorkspace } from "../workspace/settings.ts";
import { createToken, revokeToken, rotateToken, tokenList } from "./actions.ts";
import { before, use } from "../../../tests/support/use.ts";

let keys: Keys;
const now = new Date();
const inHours = (hours: number): Date => new Date(now.getTime() + hours * 3_600_000);

const control = use(openControlDatabase);
let workspace: DirectoryRow;
before(async () => {
  keys = await openTestKeys(control.database);
  workspace = await makeWorkspace(control.database, "tokens.example");
});

const callerOf = (by: DirectoryRow, at: Date = now) => ({
  database: control.database,
  keys,
  workspace: by,
  actor: OPERATOR,
  now: at,
});

async function act<Result>(
  action: Action<Fields, Result>,
  values: Parameters<typeof textInput>[0],
  by: DirectoryRow = workspace,
): Promise<Result> {
  return (await runAction(action, callerOf(by), textInput(values))).result;
}

const ALERTS = { name: "a", scopes: "read:alerts" };
const create = (values: Parameters<typeof textInput>[0], by?: DirectoryRow) => act(createToken, values, by);
const issue = (name: string, expires?: string) =>
  create({ name, scopes: "read:alerts,read:dashboard", expires });
const end = (tokenId: string) => act(revokeToken, { token_id: tokenId });
const rotate = (tokenId: string, overlap?: string, by?: DirectoryRow) =>
  act(rotateToken, { token_id: tokenId, overlap }, by);
const listed = (at?: Date) => readList(tokenList, callerOf(workspace, at));

async function statusOf(tokenId: string, at: Date = now): Promise<string | undefined> {
  return (await listed(at)).find((token) => token.token_id === tokenId)?.status;
}

test("a new token parses, belongs to its workspace, and only its hash is kept", async () => {
  const issued = await issue("analyst", "90d");
  const parsed = parseToken(issued.token.reveal());
  assert.equal(parsed?.tokenId, issued.token_id);
  assert.equal(parsed.shopKey, workspace.shop_key);
  const rows = await control.database.rows<{ secret_hash: Buffer; everything: string }>(
    {
      name: "test_token",
      text: "select secret_hash, t::text as everything from api_token t where token_id = $1",
    },
    [issued.token_id],
  );
  assert.deepEqual(rows[0]?.secret_hash, keyedHash(parsed.secret, keys.tokenPepper));
  const traces = JSON.stringify([rows, await listed(), await control.audit()]);
  assert.ok(!traces.includes(parsed.secret));
});

test("a token is made only on a plan with api_access; one of before stays, and is not replaced either", async () => {
  const { token_id: tokenId } = await issue("before");
  const plan = async (name: string): Promise<DirectoryRow> => ({
    ...workspace,
    ...(await act(setWorkspace, { plan: name })),
  });
  const starter = await plan("starter");
  const refusal = {
    kind: "impossible",
    message:
      "The plan starter of tokens.example does not include api_access: a token needs a plan that does.",
  };
  await assert.rejects(create(ALERTS, starter), refusal);
  await assert.rejects(rotate(tokenId, undefined, starter), refusal);
  assert.equal(await statusOf(tokenId), "active");
  await create(ALERTS, await plan("growth"));
});

test("an expired token is listed as expired", async () => {
  const { token_id: tokenId } = await issue("short", "12h");
  assert.equal(await statusOf(tokenId), "active");
  assert.equal(await statusOf(tokenId, inHours(12)), "expired");
});

test("revoking twice changes nothing the second time", async () => {
  const { token_id: tokenId } = await issue("twice");
  const first = await end(tokenId);
  assert.equal(await statusOf(tokenId), "revoked");
  assert.deepEqual(await end(tokenId), first);
  const recorded = (await control.audit()).filter(
    (event) => event.action === "token.revoke" && event.detail["token_id"] === tokenId,
  );
  assert.equal(recorded.length, 1);
});

test("a rotated token keeps name, scopes and lifetime; the old one ends now, or after the overlap", async () => {
  const old = await issue("rotated", "48h");
  const second = await rotate(old.token_id, "24h");
  assert.deepEqual(second.replaces, { token_id: old.token_id, valid_until: inHours(24) });
  assert.equal(await statusOf(old.token_id, inHours(23)), "active");
  assert.equal(await statusOf(old.token_id, inHours(24)), "expired");

  const third = await rotate(second.token_id);
  assert.equal(await statusOf(second.token_id), "revoked");
  const tokens = await listed();
  const made = tokens.find((token) => token.token_id === third.token_id);
  assert.equal(made?.name, "rotated");
  assert.deepEqual(made.scopes, ["read:dashboard", "read:alerts"]);
  const lifetimeMs = (made.expires_at?.getTime() ?? 0) - now.getTime();
  // The process may have started this many minutes before the token was made.
  assert.ok(Math.abs(lifetimeMs - 48 * 3_600_000) < 1_200_000);
  await assert.rejects(rotate(second.token_id), {
    kind: "impossible",
    message: /is revoked: create a new one/u,
  });
});

test("an overlap does not prolong a token that ends earlier", async () => {
  const old = await issue("ending", "2h");
  const { replaces } = await rotate(old.token_id, "7d");
  assert.deepEqual(replaces.valid_until, inHours(2));
});
