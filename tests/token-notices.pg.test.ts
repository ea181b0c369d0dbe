import assert from "node:assert/strict";
import { test } from "node:test";
import { createPerson, removeMember, setRole, type Person } from "./support/people.ts";
import { startTestService } from "./support/service.ts";
import { createTenant, createTokenOf, insertRows, type Tenant } from "./support/tenants.ts";
import { DEFAULT_RETENTION, keepAllInOrder } from "./support/worker.ts";
import { before, use } from "./support/use.ts";

/** The hourly upkeep at a given time: who is notified of tokens that end, and which details of usage are kept. */

let tenant: Tenant;
let people: Record<"owner" | "admin" | "viewer", Person>;
const service = use(startTestService);
before(async () => {
  tenant = await createTenant(service.database);
  people = {
    owner: await createPerson(service.database),
    admin: await createPerson(service.database),
    viewer: await createPerson(service.database),
  };
  for (const [role, person] of Object.entries(people)) {
    await setRole(service.database, tenant, person, role as keyof typeof people);
  }
});

const DAY_MS = 86_400_000;
const START = Date.now();
const inDays = (days: number): Date => new Date(START + days * DAY_MS);
const log = {
  info: () => {},
  warn: () => {},
  error: (detail: object) => assert.fail(JSON.stringify(detail)),
};

async function upkeepAt(days: number): Promise<void> {
  const { database } = service.installation;
  assert.deepEqual(
    await keepAllInOrder({ database, now: () => inDays(days), log, retention: DEFAULT_RETENTION }),
    [],
  );
}

/** A token that ends after this many days. */
async function tokenEnding(days: number): Promise<string> {
  const expiresAt = inDays(days).toISOString();
  return (await createTokenOf(service.database, tenant.shopKey, { expiresAt })).tokenId;
}

/** Who was notified of a token, and how. */
async function toldOf(tokenId: string): Promise<string[]> {
  const { rows } = await service.database.query<{ recipient: string; severity: string; link_url: string }>(
    `select recipient, severity, link_url from alert where shop_key = $1 and event_key like $2
      order by created_at, recipient`,
    [tenant.shopKey, `%${tokenId}%`],
  );
  const roleOf = new Map(Object.entries(people).map(([role, { userId }]) => [`user:${userId}`, role]));
  return rows.map(({ recipient, severity, link_url: link }) => {
    assert.equal(link, `/settings/tokens/${tokenId}`);
    return `${roleOf.get(recipient)} ${severity}`;
  });
}

test("owners and admins are notified 14 and 3 days before a token's end, once each; the API's alerts do not include that", async () => {
  const tokenId = await tokenEnding(90);
  const told: string[][] = [];
  for (const days of [75.9, 76, 76.04, 80, 87, 87.04, 89.9, 90.1]) {
    await upkeepAt(days);
    told.push((await toldOf(tokenId)).toSorted());
  }
  const [first, both] = [
    ["admin warning", "owner warning"],
    ["admin critical", "admin warning", "owner critical", "owner warning"],
  ];
  assert.deepEqual(told, [[], first, first, first, both, both, both, both]);
  const feed = await service.call("/api/v1/alerts", { token: tenant.token });
  assert.deepEqual(feed.json().data, []);
});

test("nobody is notified of a token that is revoked, was replaced, or never ends", async () => {
  const [revoked, replaced, endless] = [
    await tokenEnding(200),
    await tokenEnding(200),
    (await createTokenOf(service.database, tenant.shopKey)).tokenId,
  ];
  const replacement = await tokenEnding(300);
  await service.database.query("update api_token set revoked_at = now() where token_id = $1", [revoked]);
  await service.database.query("update api_token set replaces = $2 where token_id = $1", [
    replacement,
    replaced,
  ]);
  await upkeepAt(199);
  for (const tokenId of [revoked, replaced, endless, replacement])
    assert.deepEqual(await toldOf(tokenId), []);
});

test("members who join later are notified too; former members are not", async () => {
  const tokenId = await tokenEnding(400);
  await removeMember(service.database, tenant, people.admin);
  await upkeepAt(398);
  assert.deepEqual(await toldOf(tokenId), ["owner critical"]);
  await setRole(service.database, tenant, people.admin, "admin");
  await upkeepAt(398.1);
  assert.deepEqual(await toldOf(tokenId), ["owner critical", "admin critical"]);
});

test("details of usage are kept for 400 days", async () => {
  const dayOf = (daysAgo: number): string => inDays(-daysAgo).toISOString().slice(0, 10);
  await insertRows(
    service.database,
    "usage_detail",
    [0, 400, 401].map((daysAgo) => ({
      shop_key: tenant.shopKey,
      day: dayOf(daysAgo),
      token_id: tenant.tokenId,
      endpoint: "summary",
      surface: "rest",
      outcome: "ok",
      requests: 1,
      quota_requests: 1,
    })),
  );
  await upkeepAt(0);
  const { rows } = await service.database.query<{ day: string }>(
    "select to_char(day, 'YYYY-MM-DD') as day from usage_detail where shop_key = $1 and endpoint = 'summary' order by day desc",
    [tenant.shopKey],
  );
  assert.deepEqual(
    rows.map(({ day }) => day),
    [dayOf(0), dayOf(400)],
  );
});
