import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { createPerson, createSession, setRole } from "../../tests/support/people.ts";
import type { Person } from "../../tests/support/people.ts";
import { startTestService } from "../../tests/support/service.ts";
import type { TestService } from "../../tests/support/service.ts";
import { createTenant } from "../../tests/support/tenants.ts";
import type { Tenant } from "../../tests/support/tenants.ts";
import type { Role } from "../contract/role.ts";
import { createIdentity } from "../identity/identity.ts";
import type { Database } from "../store/database.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import { OPERATOR } from "./actor.ts";
import type { Actor } from "./actor.ts";
import { addMember, inviteMember, recoverMember } from "./invite.ts";
import { leaveWorkspace, removeMember, setMemberRole, showMembers } from "./members.ts";
import { Refusal } from "./refusal.ts";
import { requireWorkspace } from "./workspace.ts";

const NOW = new Date();
const PLACE = { origin: "http://localhost:8080", now: NOW };

let service: TestService;
let database: Database;
let tenant: Tenant;
let workspace: WorkspaceRow;
let owner: Person;
let admin: Person;
let viewer: Person;

before(async () => {
  service = await startTestService();
  ({ database } = service.installation);
});
beforeEach(async () => {
  tenant = await createTenant(service.database);
  workspace = await requireWorkspace(database, tenant.shopDomain);
  owner = await member("owner");
  admin = await member("admin");
  viewer = await member("viewer");
});
after(() => service.stop());

async function member(role: Role): Promise<Person> {
  const person = await createPerson(service.database);
  await setRole(service.database, tenant, person, role);
  return person;
}

const as = ({ userId }: Person, standing: Role): Actor => ({
  name: `user:${userId}`,
  origin: "127.0.0.1",
  standing,
  isFresh: true,
});

/** The kind of a refusal; "done" = it was none. */
async function outcome(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "done";
  } catch (error) {
    if (error instanceof Refusal) return error.kind;
    throw error;
  }
}

async function roles(): Promise<Record<string, string>> {
  const members = await showMembers(database, OPERATOR, workspace, NOW);
  return Object.fromEntries(members.map(({ name, role }) => [name, role]));
}

async function audited(): Promise<unknown[]> {
  const { rows } = await service.database.query(
    `select actor, action, detail, before from audit_event
      where shop_key = $1 order by happened_at, audit_id`,
    [tenant.shopKey],
  );
  return rows;
}

const isKnown = async (userId: string): Promise<boolean> =>
  (await service.database.query("select from console_user where user_id = $1", [userId])).rowCount === 1;

const NO_BROWSER = { oldSessionHash: null, origin: null };

test("an invitation is a member who has not signed in yet, and its link signs them in once, within 72 hours", async () => {
  const invited = await inviteMember(database, as(admin, "admin"), workspace, {
    ...PLACE,
    name: `Ada ${tenant.shopKey}`,
    role: "viewer",
  });
  assert.equal(invited.expires_at.getTime() - NOW.getTime(), 72 * 3_600_000);
  assert.deepEqual(await audited(), [
    {
      actor: `user:${admin.userId}`,
      action: "member.invite",
      detail: { user_id: invited.user_id, role: "viewer", expires_at: invited.expires_at.toISOString() },
      before: null,
    },
  ]);
  const find = async () =>
    (await showMembers(database, as(owner, "owner"), workspace, NOW)).find(
      ({ user_id: userId }) => userId === invited.user_id,
    );
  assert.deepEqual(
    [(await find())?.is_pending, (await find())?.link_expires_at, (await find())?.last_seen_at],
    [true, invited.expires_at, null],
  );
  const secret = invited.link.slice(invited.link.indexOf("#") + 1);
  const identity = createIdentity(database, () => NOW);
  assert.equal((await identity.signInByLink({ secret, ...NO_BROWSER })).outcome, "signed_in");
  assert.equal((await identity.signInByLink({ secret, ...NO_BROWSER })).outcome, "used");
  assert.deepEqual([(await find())?.is_pending, (await find())?.link_expires_at], [false, null]);
});

test("a name that somebody has is refused, and nobody else's account is joined", async () => {
  const other = await createPerson(service.database);
  for (const name of [other.userName, viewer.userName]) {
    const request = { ...PLACE, name, role: "viewer" };
    assert.equal(await outcome(inviteMember(database, as(owner, "owner"), workspace, request)), "impossible");
  }
  assert.deepEqual(Object.keys(await roles()).length, 3);
});

test("admins act on viewers and admins, owners on everybody", async () => {
  const byAdmin = as(admin, "admin");
  const byOwner = as(owner, "owner");
  const set = (actor: Actor, { userId }: Person, role: Role) =>
    outcome(setMemberRole(database, actor, workspace, { userId, role }));
  assert.equal(await set(byAdmin, viewer, "admin"), "done");
  assert.equal(await set(byAdmin, viewer, "owner"), "forbidden");
  assert.equal(await set(byAdmin, owner, "viewer"), "forbidden");
  assert.equal(await outcome(removeMember(database, byAdmin, workspace, owner.userId)), "forbidden");
  const asOwner = { ...PLACE, name: `New owner ${tenant.shopKey}`, role: "owner" };
  assert.equal(await outcome(inviteMember(database, byAdmin, workspace, asOwner)), "forbidden");
  assert.equal(await set(byOwner, viewer, "owner"), "done");
  assert.equal(await set(as(viewer, "viewer"), admin, "viewer"), "forbidden");
  assert.equal(await set({ ...byOwner, isFresh: false }, admin, "viewer"), "unproved");
  assert.equal(await set(byOwner, admin, "viewer"), "done");
  // Their role of a moment ago counts no more.
  assert.equal(await set(byAdmin, viewer, "viewer"), "forbidden");
  assert.deepEqual(
    (await audited()).map((event) => (event as { before: unknown }).before),
    [{ role: "viewer" }, { role: "admin" }, { role: "admin" }],
  );
});

test("the last owner can neither leave, be removed nor lowered, not even by the operator", async () => {
  const { userId } = owner;
  for (const actor of [as(owner, "owner"), OPERATOR]) {
    const lowered = setMemberRole(database, actor, workspace, { userId, role: "admin" });
    assert.equal(await outcome(lowered), "impossible");
    assert.equal(await outcome(removeMember(database, actor, workspace, userId)), "impossible");
  }
  assert.equal(await outcome(leaveWorkspace(database, as(owner, "owner"), workspace)), "impossible");
  const invited = await inviteMember(database, as(owner, "owner"), workspace, {
    ...PLACE,
    name: `Heir ${tenant.shopKey}`,
    role: "owner",
  });
  assert.equal(await outcome(leaveWorkspace(database, as(owner, "owner"), workspace)), "impossible");
  await createSession(service.database, invited.user_id);
  assert.equal(await outcome(leaveWorkspace(database, as(owner, "owner"), workspace)), "done");
});

test("of two owners who take each other's role away at once, one stays", async () => {
  for (let round = 0; round < 8; round += 1) {
    const second = await member("owner");
    const outcomes = await Promise.all([
      outcome(
        setMemberRole(database, as(owner, "owner"), workspace, { userId: second.userId, role: "admin" }),
      ),
      outcome(
        setMemberRole(database, as(second, "owner"), workspace, { userId: owner.userId, role: "admin" }),
      ),
    ]);
    assert.deepEqual(outcomes.toSorted(), ["done", "forbidden"]);
    assert.equal(Object.values(await roles()).filter((role) => role === "owner").length, 1);
    if (outcomes[1] === "done") owner = second;
  }
});

test("of two owners who leave at once, one stays", async () => {
  const second = await member("owner");
  const outcomes = await Promise.all(
    [owner, second].map((person) => outcome(leaveWorkspace(database, as(person, "owner"), workspace))),
  );
  assert.deepEqual(outcomes.toSorted(), ["done", "impossible"]);
});

test("who leaves their last workspace is forgotten, unless they are an operator", async () => {
  const elsewhere = await createTenant(service.database);
  await setRole(service.database, elsewhere, admin, "viewer");
  await leaveWorkspace(database, as(viewer, "viewer"), workspace);
  await removeMember(database, as(owner, "owner"), workspace, admin.userId);
  assert.deepEqual([await isKnown(viewer.userId), await isKnown(admin.userId)], [false, true]);
  const operator = await member("viewer");
  await service.database.query("update console_user set is_operator = true where user_id = $1", [
    operator.userId,
  ]);
  await removeMember(database, as(owner, "owner"), workspace, operator.userId);
  assert.equal(await isKnown(operator.userId), true);
  assert.deepEqual(Object.keys(await roles()), [owner.userName]);
  const detail = (await audited()).map((event) => (event as { action: string }).action);
  assert.deepEqual(detail, ["member.leave", "member.remove", "member.remove"]);
});

test("a recovery link ends the sessions of a member, and every owner is notified", async () => {
  const second = await member("owner");
  const link = await recoverMember(database, as(admin, "admin"), workspace, {
    ...PLACE,
    userId: viewer.userId,
  });
  assert.equal(link.purpose, "recover");
  const { rows: sessions } = await service.database.query("select from console_session where user_id = $1", [
    viewer.userId,
  ]);
  assert.equal(sessions.length, 0);
  const { rows: told } = await service.database.query<{ recipient: string }>(
    "select recipient from alert where shop_key = $1 order by recipient",
    [tenant.shopKey],
  );
  assert.deepEqual(
    told.map(({ recipient }) => recipient),
    [`user:${owner.userId}`, `user:${second.userId}`].toSorted(),
  );
});

test("nobody is made a link to more than the workspace holds", async () => {
  const recover = (actor: Actor, { userId }: Person) =>
    outcome(recoverMember(database, actor, workspace, { ...PLACE, userId }));
  const byOwner = as(owner, "owner");
  const second = await member("owner");
  assert.equal(await recover(byOwner, second), "forbidden");
  assert.equal(await recover(byOwner, owner), "impossible");
  await setRole(service.database, await createTenant(service.database), viewer, "viewer");
  assert.equal(await recover(byOwner, viewer), "forbidden");
  await service.database.query("update console_user set is_operator = true where user_id = $1", [
    admin.userId,
  ]);
  assert.equal(await recover(byOwner, admin), "forbidden");
  const later = await member("viewer");
  await service.database.query("update console_user set disabled_at = now() where user_id = $1", [
    later.userId,
  ]);
  assert.equal(await recover(byOwner, later), "impossible");
  assert.deepEqual(await audited(), []);
});

test("an invitation that was lost is made again, and the first link does not work any more", async () => {
  const byOwner = as(owner, "owner");
  const request = { ...PLACE, name: `Lost ${tenant.shopKey}`, role: "admin" };
  const first = await inviteMember(database, byOwner, workspace, request);
  const again = await recoverMember(database, byOwner, workspace, { ...PLACE, userId: first.user_id });
  assert.equal(again.purpose, "invite");
  const identity = createIdentity(database, () => NOW);
  const enter = async ({ link }: { link: string }) =>
    (await identity.signInByLink({ secret: link.slice(link.indexOf("#") + 1), ...NO_BROWSER })).outcome;
  assert.equal(await enter(first), "unknown");
  assert.equal(await enter(again), "signed_in");
  assert.equal((await removeMember(database, byOwner, workspace, first.user_id)).was_invited, false);
});

test("the operator adds somebody of the installation by name, and invites whoever is new", async () => {
  const person = await createPerson(service.database);
  const add = (name: string, role: string) =>
    addMember(database, OPERATOR, workspace, { ...PLACE, name, role });
  const added = await add(person.userName, "viewer");
  assert.deepEqual([added.role, added.link], ["viewer", null]);
  assert.equal((await add(person.userName, "admin")).role, "admin");
  assert.match(
    (await add(`New ${tenant.shopKey}`, "viewer")).link ?? "",
    /^http:\/\/localhost:8080\/enter#/u,
  );
  assert.deepEqual(
    (await audited()).map((event) => {
      const { action, before: earlier } = event as { action: string; before: unknown };
      return [action, earlier];
    }),
    [
      ["member.set", null],
      ["member.set", { role: "viewer" }],
      ["member.invite", null],
    ],
  );
  const refused = addMember(database, as(owner, "owner"), workspace, { ...PLACE, name: "A", role: "viewer" });
  assert.equal(await outcome(refused), "forbidden");
});
