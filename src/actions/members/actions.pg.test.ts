import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { createPerson, createSession, setRole, type Person } from "../../../tests/support/people.ts";
import { openTestKeys } from "../../../tests/support/secret.ts";
import { service } from "../../../tests/support/shared-service.ts";
import { createTenant, type Tenant } from "../../../tests/support/tenants.ts";
import type { Role } from "../../contract/role.ts";
import { OPERATOR, type Actor } from "../actor.ts";
import { Refusal } from "../refusal.ts";
import { requireWorkspace } from "../workspace/workspace.ts";
import { createIdentity } from "../../access/identity.ts";
import type { DirectoryRow } from "../../store/queries/workspace-directory.ts";
import { readList, runAction, type Action, type LinkCaller, type ShownSecret } from "../action.ts";
import { textInput, type Fields } from "../field.ts";
import { grantOperator, linkUser } from "../people/actions.ts";
import {
  addMember,
  inviteMember,
  leaveWorkspace,
  memberList,
  recoverMember,
  removeMember,
  restoreMember,
  setMemberRole,
} from "./actions.ts";
import { forgetRemovedMembers } from "../../store/queries/old-rows.ts";

const NOW = new Date();
const ORIGIN = "http://localhost:8080";

let tenant: Tenant;
let workspace: DirectoryRow;
let owner: Person;
let admin: Person;
let viewer: Person;

const { database } = service.installation;
const keys = await openTestKeys(database);
beforeEach(async () => {
  tenant = await createTenant(service.database);
  workspace = await requireWorkspace(database, tenant.shopDomain);
  owner = await member("owner");
  admin = await member("admin");
  viewer = await member("viewer");
});

async function member(role: Role): Promise<Person> {
  const person = await createPerson(service.database);
  await setRole(service.database, tenant, person, role);
  return person;
}

const as = ({ userId, sessionHash }: Person, standing: Role): Actor => ({
  name: `user:${userId}`,
  origin: "127.0.0.1",
  standing,
  isFresh: true,
  session: { userId, sessionHash },
});

const callerOf = (actor: Actor, by: DirectoryRow) => ({
  database,
  keys,
  workspace: by,
  actor,
  now: NOW,
  consoleOrigin: () => ORIGIN,
});

async function act<Result>(
  action: Action<Fields, Result, LinkCaller>,
  actor: Actor,
  values: Parameters<typeof textInput>[0],
  by: DirectoryRow = workspace,
): Promise<Result> {
  return (await runAction(action, callerOf(actor, by), textInput(values))).result;
}

const listed = (actor: Actor) => readList(memberList, callerOf(actor, workspace));

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
  const members = await listed(OPERATOR);
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

const countSessions = async ({ userId }: Person): Promise<number | null> =>
  (await service.database.query("select from console_session where user_id = $1", [userId])).rowCount;

const isKnown = async (userId: string): Promise<boolean> =>
  (await service.database.query("select from console_user where user_id = $1", [userId])).rowCount === 1;

const identity = createIdentity(database, () => NOW, Buffer.alloc(32));

/** What comes of using a link. */
async function enter({ link }: { link: ShownSecret }): Promise<string> {
  const secret = link.reveal().replace(/^.*#/u, "");
  return (await identity.signIn({ way: "link", secret, oldSessionHash: null, origin: null })).outcome;
}

const invite = (name: string, role: Role = "viewer", actor = as(owner, "owner")) =>
  act(inviteMember, actor, { name, role });

test("an invitation is a member who has not signed in yet, and its link signs them in once, within 72 hours", async () => {
  const invited = await invite(`Ada ${tenant.shopKey}`, "viewer", as(admin, "admin"));
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
    (await listed(as(owner, "owner"))).find(({ user_id: userId }) => userId === invited.user_id);
  assert.deepEqual(
    [(await find())?.is_pending, (await find())?.link_expires_at, (await find())?.last_seen_at],
    [true, invited.expires_at, null],
  );
  assert.deepEqual([await enter(invited), await enter(invited)], ["signed_in", "used"]);
  assert.deepEqual([(await find())?.is_pending, (await find())?.link_expires_at], [false, null]);
});

test("another member's name is refused; a name in another workspace is not revealed", async () => {
  for (const name of [viewer.userName, viewer.userName.toUpperCase(), ` ${viewer.userName}`]) {
    assert.equal(await outcome(invite(name)), "impossible");
  }
  const other = await createPerson(service.database);
  assert.notEqual((await invite(other.userName)).user_id, other.userId);
  assert.deepEqual(Object.keys(await roles()).length, 4);
  const added = { person: other.userId, role: "viewer" };
  assert.equal(await outcome(act(addMember, OPERATOR, added, workspace)), "impossible");
});

test("of ten who invite one name at once, one does", async () => {
  const outcomes = await Promise.all(
    Array.from({ length: 10 }, () => outcome(invite(`Raced ${tenant.shopKey}`))),
  );
  assert.deepEqual(outcomes.toSorted(), ["done", ...Array<string>(9).fill("impossible")]);
});

/** What each way to other rights makes of a link from before: what it was made for is over. */
const OTHER_RIGHTS: Readonly<Record<string, (userId: string) => Promise<unknown>>> = {
  "a raise": (userId) => act(setMemberRole, as(owner, "owner"), { person: userId, role: "admin" }),
  "a membership of another workspace": async (userId) => {
    const other = await requireWorkspace(database, (await createTenant(service.database)).shopDomain);
    await act(addMember, OPERATOR, { person: userId, role: "owner" }, other);
  },
  "an operator's rights": (userId) => act(grantOperator, OPERATOR, { person: userId }),
  "a workspace by a link of the command": (userId) =>
    act(linkUser, OPERATOR, { person: userId, workspace: tenant.shopDomain }),
  "a removal from one of two workspaces": async (userId) => {
    await act(removeMember, as(owner, "owner"), { person: userId });
  },
};

for (const [what, change] of Object.entries(OTHER_RIGHTS)) {
  test(`a link does not work after ${what}, and the next one does`, async () => {
    const invited = await invite(`Invited ${tenant.shopKey}`);
    const { user_id: userId } = invited;
    const links: { link: ShownSecret }[] = [invited];
    if (what.startsWith("a removal")) {
      await setRole(service.database, await createTenant(service.database), { userId }, "viewer");
      links.push(await act(linkUser, OPERATOR, { person: userId }));
    }
    await change(userId);
    for (const link of links) assert.equal(await enter(link), "changed");
    const members = await listed(as(owner, "owner"));
    const { link_expires_at: until = null } = members.find(({ user_id: id }) => id === userId) ?? {};
    assert.equal(until === null, what !== "a workspace by a link of the command");
    assert.equal(await enter(await act(linkUser, OPERATOR, { person: userId })), "signed_in");
  });
}

test("an invitation enters with less after its member was lowered: not at all", async () => {
  const invited = await invite(`Lowered ${tenant.shopKey}`, "admin");
  await act(setMemberRole, as(owner, "owner"), { person: invited.user_id, role: "viewer" });
  assert.equal(await enter(invited), "changed");
});

test("of a raise and ten uses of an old link at once, a sign-in comes before the raise or not at all", async () => {
  const invited = await invite(`Racing ${tenant.shopKey}`);
  const enters = Array.from({ length: 10 }, () => enter(invited));
  const raise = act(setMemberRole, as(owner, "owner"), { person: invited.user_id, role: "owner" });
  const outcomes = await Promise.all(enters);
  await raise;
  assert.ok(outcomes.filter((each) => each === "signed_in").length <= 1);
  assert.ok(outcomes.every((each) => ["signed_in", "used", "changed"].includes(each)));
});

test("admins act on viewers and admins, owners on everybody", async () => {
  const byAdmin = as(admin, "admin");
  const byOwner = as(owner, "owner");
  const set = (actor: Actor, { userId }: Person, role: Role) =>
    outcome(act(setMemberRole, actor, { person: userId, role }));
  assert.equal(await set(byAdmin, viewer, "admin"), "done");
  assert.equal(await set(byAdmin, viewer, "owner"), "forbidden");
  assert.equal(await set(byAdmin, owner, "viewer"), "forbidden");
  assert.equal(await outcome(act(removeMember, byAdmin, { person: owner.userId })), "forbidden");
  assert.equal(await outcome(invite(`New owner ${tenant.shopKey}`, "owner", byAdmin)), "forbidden");
  assert.equal(await set(byOwner, viewer, "owner"), "done");
  assert.equal(await set(as(viewer, "viewer"), admin, "viewer"), "forbidden");
  assert.equal(await set({ ...byOwner, isFresh: false }, admin, "viewer"), "unconfirmed");
  assert.equal(await set(byOwner, admin, "viewer"), "done");
  // Their role of a moment ago counts no more, also if it was a lesser one.
  assert.equal(await set(byAdmin, viewer, "viewer"), "forbidden");
  assert.equal(await set(as(viewer, "admin"), admin, "admin"), "forbidden");
  assert.deepEqual(
    (await audited()).map((event) => (event as { before: unknown }).before),
    [{ role: "viewer" }, { role: "admin" }, { role: "admin" }],
  );
  await service.database.query("update console_session set idle_until = now() where user_id = $1", [
    owner.userId,
  ]);
  await assert.rejects(set(byOwner, admin, "admin"), { reason: "signed_out" });
});

test("the last owner can neither leave, be removed nor lowered, not even by the operator", async () => {
  const { userId } = owner;
  for (const actor of [as(owner, "owner"), OPERATOR]) {
    const lowered = act(setMemberRole, actor, { person: userId, role: "admin" });
    assert.equal(await outcome(lowered), "impossible");
    assert.equal(await outcome(act(removeMember, actor, { person: userId })), "impossible");
  }
  assert.equal(await outcome(act(leaveWorkspace, as(owner, "owner"), {})), "impossible");
  const invited = await invite(`Heir ${tenant.shopKey}`, "owner");
  assert.equal(await outcome(act(leaveWorkspace, as(owner, "owner"), {})), "impossible");
  await createSession(service.database, invited.user_id);
  assert.equal(await outcome(act(leaveWorkspace, as(owner, "owner"), {})), "done");
});

test("of two owners who take each other's role away at once, one stays", async () => {
  for (let round = 0; round < 8; round += 1) {
    const second = await member("owner");
    const outcomes = await Promise.all([
      outcome(act(setMemberRole, as(owner, "owner"), { person: second.userId, role: "admin" })),
      outcome(act(setMemberRole, as(second, "owner"), { person: owner.userId, role: "admin" })),
    ]);
    assert.deepEqual(outcomes.toSorted(), ["done", "forbidden"]);
    assert.equal(Object.values(await roles()).filter((role) => role === "owner").length, 1);
    if (outcomes[1] === "done") owner = second;
  }
});

test("of two owners who leave at once, one stays", async () => {
  const second = await member("owner");
  const outcomes = await Promise.all(
    [owner, second].map((person) => outcome(act(leaveWorkspace, as(person, "owner"), {}))),
  );
  assert.deepEqual(outcomes.toSorted(), ["done", "impossible"]);
});

test("who leaves their last workspace is forgotten, unless they are an operator", async () => {
  const elsewhere = await createTenant(service.database);
  await setRole(service.database, elsewhere, admin, "viewer");
  await act(leaveWorkspace, as(viewer, "viewer"), {});
  await act(removeMember, as(owner, "owner"), { person: admin.userId });
  assert.deepEqual([await isKnown(viewer.userId), await isKnown(admin.userId)], [false, true]);
  const operator = await member("viewer");
  await service.database.query("update console_user set is_operator = true where user_id = $1", [
    operator.userId,
  ]);
  await act(removeMember, as(owner, "owner"), { person: operator.userId });
  assert.equal(await isKnown(operator.userId), true);
  assert.deepEqual(Object.keys(await roles()), [owner.userName]);
  const detail = (await audited()).map((event) => (event as { action: string }).action);
  assert.deepEqual(detail, ["member.leave", "member.remove", "member.remove"]);
});

test("a recovery link ends the sessions of a member, and every owner is notified", async () => {
  const second = await member("owner");
  const link = await act(recoverMember, as(admin, "admin"), {
    person: viewer.userId,
  });
  assert.equal(link.purpose, "recover");
  assert.equal(await countSessions(viewer), 0);
  const { rows: told } = await service.database.query<{ recipient: string }>(
    "select recipient from alert where shop_key = $1 order by recipient",
    [tenant.shopKey],
  );
  assert.deepEqual(
    told.map(({ recipient }) => recipient),
    [`user:${owner.userId}`, `user:${second.userId}`].toSorted(),
  );
  await act(removeMember, as(owner, "owner"), { person: second.userId });
  const { rows: left } = await service.database.query("select recipient from alert where shop_key = $1", [
    tenant.shopKey,
  ]);
  assert.deepEqual(left, [{ recipient: `user:${owner.userId}` }], "notices go with their member alone");
});

test("no link gives access to more than the workspace", async () => {
  const recover = (actor: Actor, { userId }: Person) =>
    outcome(act(recoverMember, actor, { person: userId }));
  const byOwner = as(owner, "owner");
  const second = await member("owner");
  assert.equal(await recover(byOwner, second), "forbidden");
  assert.equal(await recover(byOwner, owner), "impossible");
  const { user_id: heir } = await invite(`Heir ${tenant.shopKey}`, "owner");
  assert.equal(await outcome(act(recoverMember, as(admin, "admin"), { person: heir })), "forbidden");
  await service.database.query("delete from audit_event where shop_key = $1", [tenant.shopKey]);
  await setRole(service.database, await createTenant(service.database), viewer, "viewer");
  assert.equal(await recover(byOwner, viewer), "forbidden");
  const restorable = await member("viewer");
  const other = await requireWorkspace(database, (await createTenant(service.database)).shopDomain);
  await act(addMember, OPERATOR, { person: restorable.userId, role: "viewer" }, other);
  await act(removeMember, OPERATOR, { person: restorable.userId }, other);
  assert.equal(await recover(byOwner, restorable), "forbidden", "their removal from another can be undone");
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
  const first = await invite(`Lost ${tenant.shopKey}`, "admin");
  const again = await act(recoverMember, byOwner, { person: first.user_id });
  assert.equal(again.purpose, "invite");
  assert.equal(await enter(first), "unknown");
  assert.equal(await enter(again), "signed_in");
  const early = await act(linkUser, OPERATOR, { person: first.user_id });
  await act(linkUser, OPERATOR, { person: first.user_id, recover: "yes" });
  assert.equal(await enter(early), "unknown", "nor does one from before a recovery");
  assert.equal((await act(removeMember, byOwner, { person: first.user_id })).was_invited, false);
});

test("the operator adds an existing person by id, and invites a new one", async () => {
  const { userId } = await createPerson(service.database);
  const add = (role: string) => act(addMember, OPERATOR, { person: userId, role }, workspace);
  assert.equal((await add("viewer")).role, "viewer");
  assert.equal((await add("admin")).role, "admin");
  const { link } = await invite(`New ${tenant.shopKey}`, "viewer", OPERATOR);
  assert.match(link.reveal(), /^http:\/\/localhost:8080\/enter\?link=[\w-]{43}#/u);
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
  const refused = act(addMember, as(owner, "owner"), { person: userId, role: "viewer" }, workspace);
  assert.equal(await outcome(refused), "forbidden");
});

test("a member's removal ends their access, and can be undone within a day by anyone who may remove them", async () => {
  const now = Date.now();
  const at = (hours: number, actor: Actor, by = workspace) => ({
    ...callerOf(actor, by),
    now: new Date(now + hours * 3_600_000),
  });
  const restore = (hours: number, actor: Actor, person: string, by = workspace) =>
    outcome(runAction(restoreMember, at(hours, actor, by), textInput({ person })));
  const foreign = await requireWorkspace(database, (await createTenant(service.database)).shopDomain);
  const early = await act(linkUser, OPERATOR, { person: viewer.userId });
  await act(removeMember, as(owner, "owner"), { person: viewer.userId });
  assert.deepEqual(Object.keys(await roles()).toSorted(), [owner.userName, admin.userName].toSorted());
  assert.equal(await countSessions(viewer), 0);
  for (const [hours, actor, person, by] of [
    [25, OPERATOR, viewer.userId, workspace],
    [0, as(admin, "admin"), crypto.randomUUID(), workspace],
    [0, as(admin, "admin"), admin.userId, workspace],
    [1, OPERATOR, viewer.userId, foreign],
  ] as const) {
    assert.equal(await restore(hours, actor, person, by), "impossible");
  }
  assert.equal(await restore(0, { ...as(admin, "admin"), isFresh: false }, viewer.userId), "unconfirmed");
  assert.deepEqual(
    await Promise.all([1, 2, 3].map(() => restore(0, as(admin, "admin"), viewer.userId))).then((all) =>
      all.toSorted(),
    ),
    ["done", "impossible", "impossible"],
  );
  assert.equal((await roles())[viewer.userName], "viewer");
  assert.equal(await enter(early), "unknown", "a link from before the removal stays ended");

  const second = await member("owner");
  await act(removeMember, as(owner, "owner"), { person: second.userId });
  assert.equal(await restore(0, as(admin, "admin"), second.userId), "forbidden");
  await invite(second.userName);
  assert.equal(
    await restore(0, as(owner, "owner"), second.userId),
    "impossible",
    "the name is taken meanwhile",
  );
  await act(removeMember, as(owner, "owner"), { person: admin.userId });
  await forgetRemovedMembers(database, new Date(now - 3_600_000));
  assert.equal(await isKnown(second.userId), true);
  await forgetRemovedMembers(database, new Date(now + 3_600_000));
  assert.deepEqual([await isKnown(second.userId), await isKnown(admin.userId)], [false, false]);
  assert.equal(await isKnown(viewer.userId), true);
  const restored = (await audited()).filter(
    (event) => (event as { action: string }).action === "member.restore",
  );
  assert.deepEqual(restored, [
    {
      actor: `user:${admin.userId}`,
      action: "member.restore",
      detail: { user_id: viewer.userId, role: "viewer" },
      before: null,
    },
  ]);
});
