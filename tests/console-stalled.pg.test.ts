import assert from "node:assert/strict";
import { test } from "node:test";
import { runAction } from "../src/actions/action.ts";
import { textInput } from "../src/actions/field.ts";
import { leaveWorkspace, removeMember, setMemberRole } from "../src/actions/members/actions.ts";
import { disableUser, enableUser } from "../src/actions/people/actions.ts";
import { SenderGone } from "../src/actions/right.ts";
import { ACTIONS } from "../src/console/registry.ts";
import { ROLES, type Role } from "../src/contract/role.ts";
import { OPERATOR, type Actor } from "../src/actions/actor.ts";
import { Refusal } from "../src/actions/refusal.ts";
import { requireWorkspace } from "../src/actions/workspace/workspace.ts";
import type { DatabasePool } from "../src/store/database.ts";
import { newSecret } from "../src/access/secret.ts";
import { postForm } from "./support/console-person.ts";
import { countLockWaits } from "./support/locks.ts";
import { createPerson, createSession, setRole } from "./support/people.ts";
import { openRaw, type RawAnswer } from "./support/raw-http.ts";
import { countRowsByTable } from "./support/rows-by-table.ts";
import { startTestService, type WireAnswer } from "./support/service.ts";
import { createTenant, type Tenant } from "./support/tenants.ts";
import { eventually } from "./support/worker.ts";
import { before, use } from "./support/use.ts";

/** Requests whose body arrives after the sender's rights have changed, and concurrent changes of rights. */

const service = use(startTestService);
let tenant: Tenant;
before(async () => {
  tenant = await createTenant(service.database);
  // The last operator could not be disabled.
  await service.database.query("insert into console_user (name, is_operator) values ('operator', true)");
});

type Sender = { userId: string; cookie: string; sessionHash: Buffer };

/** A person whose session is updated by the next request, which shows that it was admitted. */
async function createSender(role: Role | null, { shopKey } = tenant): Promise<Sender> {
  const { userId } = await createPerson(service.database);
  if (role !== null) await setRole(service.database, { shopKey }, { userId }, role);
  const { text, hash: sessionHash } = newSecret();
  await createSession(service.database, userId, { sessionHash });
  await service.database.query(
    "update console_session set last_seen_at = now() - interval '6 min' where user_id = $1",
    [userId],
  );
  return { userId, cookie: `returns=${text}`, sessionHash };
}

async function untilAdmitted({ sessionHash }: Sender): Promise<void> {
  const isSeen = async () => {
    const { rows } = await service.database.query<{ seen: boolean }>(
      "select last_seen_at > now() - interval '5 min' as seen from console_session where session_hash = $1",
      [sessionHash],
    );
    return rows[0]?.seen === true;
  };
  await eventually(isSeen, "the head of the request is admitted", 30);
}

type Stalled = { path: string; type: string; body: string; isAdmitted?: (sender: Sender) => Promise<void> };

/** Sends a head and half a body, waits until the sender is admitted, changes something, and sends the rest. */
async function stall(
  sender: Sender,
  { path, type, body, isAdmitted = untilAdmitted }: Stalled,
  meanwhile: () => Promise<unknown>,
): Promise<RawAnswer> {
  const connection = await openRaw(service.address);
  const { host } = new URL(service.address);
  connection.send(
    `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${service.address}\r\nSec-Fetch-Site: same-origin\r\n` +
      `Cookie: ${sender.cookie}\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n` +
      `Accept-Encoding: identity\r\nConnection: close\r\n\r\n${body.slice(0, 1)}`,
  );
  await isAdmitted(sender);
  await meanwhile();
  connection.send(body.slice(1));
  try {
    return await connection.answer();
  } finally {
    connection.close();
  }
}

const FORM = "application/x-www-form-urlencoded";
const ID = "00000000-0000-4000-8000-000000000000";
/** Bodies that would be accepted from a permitted sender; for all other forms the right is checked before the body. */
const BODIES: Readonly<Record<string, string>> = {
  "token.create": `name=Stalled&scopes=read:dashboard&expires=never&request_key=${ID}`,
  "windows.set": "primary_window_days=11&min_sold_units=3",
  "member.invite": "name=Stalled&role=viewer",
  "sale_event.add": "label=Stalled&slug=stalled&starts_on=2026-01-01&ends_on=2026-01-02",
};

const byOperator = () => ({ database: service.installation.database, actor: OPERATOR, now: new Date() });

type Way = {
  change: (sender: Sender) => Promise<unknown>;
  /** Whether the answer is the expected one. */
  isAnswered: (answer: RawAnswer) => boolean;
};

const toSignIn = ({ status, headers }: RawAnswer): boolean =>
  status === 303 && headers.includes("location: /sign-in\r\n");

const WAYS: Readonly<Record<string, Way>> = {
  removed: {
    change: ({ userId }) =>
      service.database.query("delete from workspace_member where user_id = $1", [userId]),
    isAnswered: ({ status }) => status === 404,
  },
  disabled: {
    change: ({ userId }) => runAction(disableUser, byOperator(), textInput({ person: userId })),
    isAnswered: toSignIn,
  },
  "signed out": {
    change: ({ cookie }) => postForm(service, "/sign-out", {}, { cookie }),
    isAnswered: toSignIn,
  },
  demoted: {
    change: ({ userId }) =>
      service.database.query(
        `update workspace_member set role = case role when 'owner' then 'admin' else 'viewer' end where user_id = $1`,
        [userId],
      ),
    isAnswered: ({ status, body }) =>
      status === 403 && !body.includes('"unconfirmed"') && !body.includes("/confirm?"),
  },
  "no longer fresh": {
    change: ({ userId }) =>
      service.database.query(
        "update console_session set proved_at = now() - interval '11 min' where user_id = $1",
        [userId],
      ),
    // A person who may see the page is first told that the named item does not exist.
    isAnswered: ({ status, body }) =>
      (status === 403 && /"unconfirmed"|\/confirm\?/u.test(body)) || status === 404,
  },
};

async function stateOf({ shopKey }: Tenant): Promise<unknown> {
  const { workspace_member: _people, ...counts } = await countRowsByTable(service.database, shopKey);
  const { rows } = await service.database.query("select * from workspace where shop_key = $1", [shopKey]);
  const people = await service.database.query("select count(*) from console_user where name = 'Stalled'");
  return [counts, rows, people.rows];
}

for (const [index, { name, path, right, takes }] of ACTIONS.entries()) {
  test(`${name}: a body that arrives after its sender lost the right to it does nothing`, async () => {
    const { least, proof = false } = right as { least: Role; proof?: boolean };
    const state = await stateOf(tenant);
    const wrong: string[] = [];
    // An action of viewers cannot be lost by a lower role, and some actions need no recent confirmation.
    const possible = Object.entries(WAYS).filter(
      ([way]) => !(way === "demoted" && least === "viewer") && !(way === "no longer fresh" && !proof),
    );
    // All actions are run by the same code: besides a removal, each meets one other way, and those with a body of their own all.
    const others = possible.slice(1);
    const chosen =
      name in BODIES
        ? possible
        : [...possible.slice(0, 1), ...others.slice(index % others.length).slice(0, 1)];
    for (const [way, { change, isAnswered }] of chosen) {
      const sender = await createSender(least);
      const stalled = {
        path: `/w/${tenant.shopDomain}${path.replaceAll(/:\w+/gu, ID)}`,
        type: takes === "bytes" ? "application/octet-stream" : FORM,
        body: BODIES[name] ?? "key=value",
      };
      const answer = await stall(sender, stalled, () => change(sender));
      if (!isAnswered(answer)) wrong.push(`${way}: ${answer.status} ${answer.body.slice(0, 300)}`);
    }
    assert.deepEqual(wrong, []);
    assert.deepEqual(await stateOf(tenant), state);
  });
}

test("a delayed body is accepted if nothing has changed", async () => {
  const sender = await createSender("admin");
  const stalled = {
    path: `/w/${tenant.shopDomain}/settings/windows`,
    type: FORM,
    body: BODIES["windows.set"] ?? "",
  };
  const answer = await stall(sender, stalled, () => Promise.resolve());
  assert.equal(answer.status, 303);
});

const OWN = ["/me/name", "/me/passkeys/remove", "/me/sessions/end", "/me/sessions/end-others", "/w"];
for (const path of OWN) {
  test(`${path}: a body that arrives after its sender was disabled or signed out does nothing`, async () => {
    for (const way of ["disabled", "signed out"]) {
      const sender = await createSender(null);
      await service.database.query("update console_user set is_operator = true where user_id = $1", [
        sender.userId,
      ]);
      const isAdmitted = () => new Promise<void>((resolve) => setTimeout(resolve, 50));
      const body = "name=Stalled&domain=stalled.example&currency=EUR";
      const { change } = WAYS[way] as Way;
      const answer = await stall(sender, { path, type: FORM, body, isAdmitted }, () => change(sender));
      assert.ok(toSignIn(answer), `${way}: ${answer.status}`);
    }
    const { rows } = await service.database.query(
      "select name from console_user where name = 'Stalled' union select shop_domain from workspace where shop_domain = 'stalled.example'",
    );
    assert.deepEqual(rows, []);
  });
}

/** Runs `inside` while a transaction holds the rows that the statement changes; `inside` ends that transaction. */
async function whileHeld(
  [text, values]: readonly [text: string, values: readonly unknown[]],
  inside: (end: () => Promise<unknown>) => Promise<void>,
): Promise<void> {
  const client = await service.database.connect();
  try {
    await client.query("begin");
    await client.query(text, [...values]);
    await inside(() => client.query("commit"));
  } finally {
    await client.query("rollback");
    client.release();
  }
}

async function untilWaiting(count: number): Promise<void> {
  const isWaited = async (): Promise<boolean> => (await countLockWaits(service.database)) >= count;
  await eventually(isWaited, "somebody waits", 10);
}

const MEETING: Readonly<Record<string, { path: string; fields: Record<string, string> }>> = {
  "a setting": { path: "/settings/windows", fields: { primary_window_days: "12", min_sold_units: "3" } },
  "a token": {
    path: "/settings/tokens/new",
    fields: { name: "Raced", scopes: "read:dashboard", expires: "never", request_key: ID },
  },
  "an invitation": { path: "/settings/members", fields: { name: "Raced", role: "viewer" } },
};

for (const [what, { path, fields }] of Object.entries(MEETING)) {
  test(`${what} that runs into the removal of its sender waits for it, and is refused`, async () => {
    const sender = await createSender("admin");
    const state = await stateOf(tenant);
    const removal = ["delete from workspace_member where user_id = $1", [sender.userId]] as const;
    await whileHeld(removal, async (end) => {
      const answer = postForm(service, `/w/${tenant.shopDomain}${path}`, fields, { cookie: sender.cookie });
      await untilWaiting(1);
      await end();
      assert.equal((await answer).status, 404);
    });
    assert.deepEqual(await stateOf(tenant), state);
  });
}

const ownerOf = ({ userId, sessionHash }: Sender): Actor => ({
  name: `user:${userId}`,
  origin: null,
  standing: "owner",
  isFresh: true,
  session: { userId, sessionHash },
});

test("a confirmation that is too old when the transaction reads it counts no more", async () => {
  const { database } = service.installation;
  const owner = await createSender("owner");
  await service.database.query(
    "update console_session set proved_at = now() - interval '11 min' where user_id = $1",
    [owner.userId],
  );
  const workspace = await requireWorkspace(database, tenant.shopDomain);
  const caller = { database, keys: service.keys, actor: ownerOf(owner), workspace, now: new Date() };
  await assert.rejects(runAction(removeMember, caller, textInput({ person: ID })), { kind: "unconfirmed" });
});

test("a removal that runs into an action of its member waits for it", async () => {
  const [sender, owner] = [await createSender("admin"), await createSender("owner")];
  const workspace = await requireWorkspace(service.installation.database, tenant.shopDomain);
  const busy = ["select from workspace where shop_key = $1 for update", [tenant.shopKey]] as const;
  await whileHeld(busy, async (end) => {
    const fields = { primary_window_days: "13", min_sold_units: "3" };
    const path = `/w/${tenant.shopDomain}/settings/windows`;
    const answer = postForm(service, path, fields, { cookie: sender.cookie });
    await untilWaiting(1);
    const { database } = service.installation;
    const { keys } = service;
    const caller = { database, keys, actor: ownerOf(owner), workspace, now: new Date() };
    let isRemoved = false;
    const remove = async (): Promise<void> => {
      await runAction(removeMember, caller, textInput({ person: sender.userId }));
      isRemoved = true;
    };
    const removal = remove();
    await untilWaiting(2);
    assert.equal(isRemoved, false);
    await end();
    assert.equal((await answer).status, 303);
    await removal;
  });
});

test("people who remove, demote, disable and rename each other in two workspaces at once never deadlock", async () => {
  const database = service.installation.database as DatabasePool;
  const tenants = [await createTenant(service.database), await createTenant(service.database)];
  const workspaces = await Promise.all(
    tenants.map(({ shopDomain }) => requireWorkspace(database, shopDomain)),
  );
  const people = await Promise.all(Array.from({ length: 6 }, () => createSender(null)));
  for (const each of tenants)
    for (const person of people) await setRole(service.database, each, person, "owner");
  const failures: string[] = [];
  const attempts = Array.from({ length: 50 }, async (_, index) => {
    const sender = people[index % people.length] as Sender;
    const other = people[(index * 5 + 1) % people.length] as Sender;
    const workspace = workspaces[index % 2] as (typeof workspaces)[number];
    const caller = { database, keys: service.keys, actor: ownerOf(sender), workspace, now: new Date() };
    const role = ROLES[index % 3] as Role;
    const acts = [
      () => runAction(setMemberRole, caller, textInput({ person: other.userId, role })),
      () => runAction(removeMember, caller, textInput({ person: other.userId })),
      () => runAction(leaveWorkspace, caller, textInput({})),
      () => postForm(service, "/me/name", { name: `Name ${index}` }, { cookie: sender.cookie }).then(okay),
      () => runAction(disableUser, byOperator(), textInput({ person: other.userId })),
      () => runAction(enableUser, byOperator(), textInput({ person: other.userId })),
      () => postForm(service, "/me/sessions/end-others", {}, { cookie: sender.cookie }).then(okay),
    ];
    try {
      await acts[index % acts.length]?.();
    } catch (error) {
      if (!(error instanceof Refusal) && !(error instanceof SenderGone)) failures.push(String(error));
    }
  });
  await Promise.all(attempts);
  assert.deepEqual(failures, []);
});

function okay({ status }: WireAnswer): void {
  if (status >= 500) throw new Error(`answered ${status}`);
}
