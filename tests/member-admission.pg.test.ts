import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, test } from "node:test";
import { createAdmitMember, type MemberAdmission } from "../src/access/admit-member.ts";
import { STATEMENTS, type Statement } from "../src/store/database.ts";
import { openConnections } from "./support/database.ts";
import { createPerson, createSession, removeMember, setRole } from "./support/people.ts";
import { service } from "./support/shared-service.ts";
import { changePlan, changeWorkspace, createTenant } from "./support/tenants.ts";

/** Member admission: session, person, membership and workspace, read for every page. */

const HOUR_MS = 3_600_000;

let asked: Statement[];

const connections = openConnections(service.databaseUrl);
const admitMember = createAdmitMember({
  database: {
    rows: (statement, values) => {
      asked.push(statement);
      return connections.rows(statement, values);
    },
  },
});
const tenant = await createTenant(service.database);
const person = await createPerson(service.database);
asked = [];
await setRole(service.database, tenant, person, "viewer");
after(() => connections.close());

const ask = (sessionHash = person.sessionHash, shopDomain = tenant.shopDomain, now?: Date) =>
  admitMember({ sessionHash, shopDomain }, now);

async function admitted(): Promise<MemberAdmission> {
  const admission = await ask();
  return admission === "signed_out" || admission.role === null ? assert.fail("not admitted") : admission;
}

const notFound = () => ({ userId: person.userId, role: null });

const change = (text: string, values: unknown[]) => service.database.query(text, values);

test("a member is admitted with the workspace, the person and the role", async () => {
  const { workspace, visit, authenticatedAt, ...rest } = await admitted();
  assert.deepEqual(rest, {
    userId: person.userId,
    userName: person.userName,
    workspaceName: tenant.shopDomain,
    role: "viewer",
    isBillingActive: true,
    readiness: "ready",
    isSetupOpen: false,
    billingEndsAt: null,
    eraseAfter: null,
    watched: [],
  });
  assert.deepEqual(
    [workspace.shopKey, workspace.shopDomain, workspace.currencyCode, workspace.sources.length],
    [tenant.shopKey, tenant.shopDomain, "EUR", 1],
  );
  assert.equal(visit.lastShopKey, null);
  assert.deepEqual(authenticatedAt, visit.lastSeenAt);
  assert.equal(visit.endsAt.getTime() - visit.lastSeenAt.getTime(), HOUR_MS);
});

test("a page runs two statements of the registry, a refusal one", async () => {
  const namesOf = async (work: () => Promise<unknown>): Promise<string[]> => {
    asked = [];
    await work();
    for (const statement of asked) assert.equal(STATEMENTS.get(statement.name)?.text, statement.text);
    return asked.map(({ name }) => name);
  };
  assert.deepEqual(await namesOf(() => ask()), ["find_member", "load_workspace"]);
  assert.deepEqual(await namesOf(() => ask(randomBytes(32))), ["find_member"]);
  assert.deepEqual(await namesOf(() => ask(undefined, "missing.example")), ["find_member"]);
});

test("a change of plan, billing, readiness, role, settings or data takes effect on the next page", async () => {
  const { database } = service;
  await changePlan(database, tenant, { entitlements: ["data_export"] });
  assert.deepEqual((await admitted()).workspace.entitlements, ["data_export"]);
  await changeWorkspace(database, tenant, { billing_status: "inactive" });
  assert.equal((await admitted()).isBillingActive, false);
  await changeWorkspace(database, tenant, { billing_status: "active" });
  for (const readiness of ["installing", "backfilling", "reconnecting", "ready"]) {
    await changeWorkspace(database, tenant, { readiness });
    assert.equal((await admitted()).readiness, readiness);
  }
  for (const role of ["owner", "admin", "viewer"] as const) {
    await setRole(database, tenant, person, role);
    assert.equal((await admitted()).role, role);
  }
  await changeWorkspace(database, tenant, { primary_window_days: 45, data_version: 7 });
  const { primaryWindowDays, dataVersion } = (await admitted()).workspace;
  assert.deepEqual([primaryWindowDays, dataVersion], [45, 7]);
});

test("a foreign workspace, one that the person left, and a missing one give the same answer", async () => {
  const foreign = await createTenant(service.database);
  await setRole(service.database, foreign, await createPerson(service.database), "owner");
  assert.deepEqual(await ask(undefined, foreign.shopDomain), notFound());
  assert.deepEqual(await ask(undefined, "missing.example"), notFound());
  assert.deepEqual(await ask(undefined, ""), notFound());
  await removeMember(service.database, tenant, person);
  assert.deepEqual(await ask(), notFound());
  await setRole(service.database, tenant, person, "viewer");
  assert.equal((await admitted()).role, "viewer");
});

test("a member of a deleted workspace gets the same answer", async () => {
  const gone = await createTenant(service.database);
  await setRole(service.database, gone, person, "owner");
  await change("delete from workspace where shop_key = $1", [gone.shopKey]);
  assert.deepEqual(await ask(undefined, gone.shopDomain), notFound());
});

test("a person's role in a workspace counts only there", async () => {
  const other = await createTenant(service.database);
  await setRole(service.database, other, person, "owner");
  const admission = await ask(undefined, other.shopDomain);
  assert.ok(admission !== "signed_out" && admission.role !== null);
  assert.deepEqual([admission.role, admission.workspace.shopKey], ["owner", other.shopKey]);
  assert.equal((await admitted()).role, "viewer");
});

test("a disabled person is signed out at once, in every workspace", async () => {
  await change("update console_user set disabled_at = now() where user_id = $1", [person.userId]);
  assert.equal(await ask(), "signed_out");
  assert.deepEqual(await ask(undefined, "missing.example"), "signed_out");
  await change("update console_user set disabled_at = null where user_id = $1", [person.userId]);
  assert.equal((await admitted()).userId, person.userId);
});

test("an unknown session and a deleted one are signed out", async () => {
  const sessionHash = await createSession(service.database, person.userId);
  assert.ok(typeof (await ask(sessionHash)) !== "string");
  await change("delete from console_session where session_hash = $1", [sessionHash]);
  assert.equal(await ask(sessionHash), "signed_out");
  assert.equal(await ask(randomBytes(32)), "signed_out");
});

test("a session is valid until its idle time or its end, exclusive", async () => {
  const now = Date.now();
  const idleUntil = new Date(now + HOUR_MS);
  const endsAt = new Date(now + 2 * HOUR_MS);
  for (const end of [
    { idleUntil, endsAt },
    { idleUntil: endsAt, endsAt },
  ]) {
    const sessionHash = await createSession(service.database, person.userId, end);
    const at = (atMs: number) => ask(sessionHash, undefined, new Date(atMs));
    assert.ok(typeof (await at(end.idleUntil.getTime() - 1)) !== "string");
    assert.equal(await at(end.idleUntil.getTime()), "signed_out");
    assert.equal(await at(endsAt.getTime() + HOUR_MS), "signed_out");
  }
});

test("without a given time the database's clock decides", async () => {
  const past = new Date(Date.now() - HOUR_MS);
  const sessionHash = await createSession(service.database, person.userId, { idleUntil: past });
  assert.equal(await ask(sessionHash), "signed_out");
});
