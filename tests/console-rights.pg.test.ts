import assert from "node:assert/strict";
import { test } from "node:test";
import { randomUUID } from "node:crypto";
import type pg from "pg";
import type { ActionCall, FormAction, Page, PageFile } from "../src/console/page.ts";
import { ACTIONS, FILES, PAGES, SETTINGS } from "../src/console/registry.ts";
import { matchPath } from "../src/console/route.ts";
import { ROLES } from "../src/contract/role.ts";
import type { Role } from "../src/contract/role.ts";
import { Refusal } from "../src/actions/refusal.ts";
import { ALL_RIGHTS } from "../src/actions/registry.ts";
import { mayDo } from "../src/actions/right.ts";
import type { Right } from "../src/actions/right.ts";
import { requireWorkspace } from "../src/actions/workspace/workspace.ts";
import { MONTHS } from "./support/console-pages.ts";
import { openPage, postForm } from "./support/console-person.ts";
import { matchSnapshot } from "./support/net.ts";
import { startTestService, type WireAnswer } from "./support/service.ts";
import { createSmallStore } from "./support/small-store.ts";
import { createTenant, insertRows } from "./support/tenants.ts";
import type { Tenant } from "./support/tenants.ts";
import { before, use } from "./support/use.ts";
import { newSecret } from "../src/access/secret.ts";

/** Somebody who requests pages, as the table of rights distinguishes them. */
type Asker = {
  name: string;
  /** The cookie of a signed-in browser; "" = not signed in. */
  cookie: string;
  /** Their standing in the workspace: "nobody" = not signed in, "outsider" = no member of it. */
  standing: Role | "nobody" | "outsider";
  isFresh: boolean;
};

const HOUR_MS = 3_600_000;
const STALE_MS = 11 * 60_000;

const REMOVED = "a removed owner";

/** What distinguishes one kind of asker. */
type Kind = Omit<Asker, "cookie"> & { role?: Role; shop?: Tenant; user?: Record<string, unknown> };

/** One asker of each kind, none of whom has sent a request yet. */
async function createAskers(database: pg.Pool, tenant: Tenant): Promise<Asker[]> {
  const outsider = { standing: "outsider", isFresh: true } as const;
  const nobody = { standing: "nobody", isFresh: true } as const;
  const kinds: Kind[] = [
    { name: "a disabled owner", ...nobody, role: "owner", user: { disabled_at: new Date() } },
    { name: "an owner of another workspace", ...outsider, role: "owner", shop: elsewhere },
    { name: REMOVED, ...outsider, role: "owner" },
    { name: "an operator who is no member", ...outsider, user: { is_operator: true } },
    ...ROLES.flatMap((role) =>
      [true, false].map((isFresh) => ({
        name: `${role}, ${isFresh ? "fresh" : "stale"}`,
        standing: role,
        isFresh,
        role,
      })),
    ),
  ];
  const made = kinds.map((kind) => ({ ...kind, userId: randomUUID(), secret: newSecret() }));
  await insertRows(
    database,
    "console_user",
    made.map(({ userId, user }) => ({
      user_id: userId,
      name: `asker-${userId}`,
      created_at: new Date(),
      is_operator: false,
      disabled_at: null,
      ...user,
    })),
  );
  const now = Date.now();
  await insertRows(
    database,
    "console_session",
    made.map(({ userId, secret, isFresh }) => ({
      session_hash: `\\x${secret.hash.toString("hex")}`,
      user_id: userId,
      created_at: new Date(now - HOUR_MS),
      last_seen_at: new Date(now),
      proved_at: new Date(isFresh ? now : now - STALE_MS),
      idle_until: new Date(now + HOUR_MS),
      ends_at: new Date(now + HOUR_MS),
    })),
  );
  await insertRows(
    database,
    "workspace_member",
    made.flatMap(({ userId, role, shop = tenant }) =>
      role === undefined ? [] : [{ shop_key: shop.shopKey, user_id: userId, role }],
    ),
  );
  const removed = made.find(({ name }) => name === REMOVED);
  await database.query("delete from workspace_member where user_id = $1", [removed?.userId]);
  return [
    { name: "a stranger", cookie: "", ...nobody },
    { name: "an unknown session", cookie: `returns=${newSecret().text}`, ...nobody },
    ...made.map(({ secret, ...asker }) => ({ ...asker, cookie: `returns=${secret.text}` })),
  ];
}

/**
 * Who may do what: every kind of asker × every page, file and action of the registry. The expected result comes from the
 * table of rights alone, so everything that is registered is covered.
 */

const service = use(startTestService);
/** Pages of figures are requested in the workspace with a store, everything else in the other one. */
let store: Tenant;
let tenant: Tenant;
let elsewhere: Tenant;

before(async () => {
  elsewhere = await createTenant(service.database);
  store = await createSmallStore(service.database);
  tenant = await createTenant(service.database);
});

/** The answer to each asker by page and form: a snapshot, in addition to what follows from the table of rights. */
const answered: Record<string, Record<string, Verdict | number>> = {};

type Verdict = "signed_out" | "not_found" | "forbidden" | "unconfirmed" | "allowed";

function verdictOf({ standing, isFresh }: Pick<Asker, "standing" | "isFresh">, right: Right): Verdict {
  if (standing === "nobody") return "signed_out";
  if (standing === "outsider") return "not_found";
  if (!mayDo(standing, right)) return "forbidden";
  return right.proof === true && !isFresh ? "unconfirmed" : "allowed";
}

/** An address that a path with `:names` matches. */
const filled = (path: string): string => path.replaceAll(/:\w+/gu, "00000000-0000-4000-8000-000000000000");
const pathOf = (path: string, { shopDomain } = tenant): string => `/w/${shopDomain}${filled(path)}`;
const isPage = (path: string): boolean =>
  [...FILES, ...PAGES, ...SETTINGS].some((page) => matchPath(page.path, filled(path)) !== null);
const isAction = (path: string): boolean =>
  ACTIONS.some((action) => matchPath(action.path, filled(path)) !== null);

function verdictOfAnswer({ status, headers, text }: WireAnswer): Verdict | number {
  if (status === 303 && headers.get("location") === "/sign-in") return "signed_out";
  if (status === 403)
    return /"\/confirm\?next=|"kind":"unconfirmed"/u.test(text) ? "unconfirmed" : "forbidden";
  if (status === 405 || status >= 500) return status;
  return status === 404 ? "not_found" : "allowed";
}

/** Whether the answer is that the path's object does not exist, which only those are told who may see its page. */
function isMissing(verdict: Verdict | number, expected: Verdict, path: string): boolean {
  return (
    verdict === "not_found" && (expected === "allowed" || expected === "unconfirmed") && path.includes(":")
  );
}

const STANDINGS = ["person", ...ROLES, "operator"] as const;
const EVERY_PAGE: readonly (Page | PageFile)[] = [...FILES, ...PAGES, ...SETTINGS];

for (const [kind, pages, tenantOf] of [
  ["page of figures and file", [...FILES, ...PAGES], () => store],
  ["page of settings", SETTINGS, () => tenant],
] as const) {
  test(`every ${kind}, by every kind of asker`, async () => {
    const asked = tenantOf();
    const askers = await createAskers(service.database, asked);
    const wrong: string[] = [];
    for (const page of pages) {
      assert.ok(page.right.name in ALL_RIGHTS, `${page.name} has no row in the table of rights`);
      for (const asker of askers) {
        const query = "view" in page ? "" : `?${MONTHS}`;
        const answer = await openPage(service, pathOf(page.path, asked) + query, asker.cookie);
        const verdict = verdictOfAnswer(answer);
        (answered[`GET ${page.path.replaceAll(/:\w+/gu, ":id")}`] ??= {})[asker.name] = verdict;
        const expected = verdictOf(asker, page.right);
        if (verdict !== expected && !isMissing(verdict, expected, page.path)) {
          wrong.push(`${asker.name}, ${page.name}: ${verdict}, ${expected}`);
        }
      }
    }
    assert.deepEqual(wrong, []);
  });
}

test("every page and form of operators, by every kind of asker", async () => {
  const pages = ["", "/workspace?domain=none.example", "/people", "/audit", "/health"];
  const forms = ["/workspace", "/people/disable", "/people/enable"];
  const wrong: string[] = [];
  for (const asker of await createAskers(service.database, tenant)) {
    for (const [method, path] of [
      ...pages.map((each) => ["GET", each] as const),
      ...forms.map((each) => ["POST", each] as const),
    ]) {
      const address = `/operator${path}`;
      const { cookie } = asker;
      const verdict = verdictOfAnswer(
        method === "GET"
          ? await openPage(service, address, cookie)
          : await postForm(service, address, {}, { cookie }),
      );
      (answered[`${method} /operator${path}`] ??= {})[asker.name] = verdict;
      const mayAsk = asker.name === "an operator who is no member" ? "allowed" : "forbidden";
      const expected = asker.standing === "nobody" ? "signed_out" : mayAsk;
      if (verdict !== expected) wrong.push(`${asker.name}, ${method} ${path}: ${verdict}, ${expected}`);
    }
  }
  assert.deepEqual(wrong, []);
});

function post({ takes, path }: FormAction, cookie: string): Promise<WireAnswer> {
  const type = takes === "bytes" ? { "content-type": "application/octet-stream" } : {};
  return postForm(service, pathOf(path), {}, { cookie, ...type });
}

for (const action of ACTIONS) {
  test(`the action ${action.name}, by every kind of asker`, async () => {
    assert.ok(action.right.name in ALL_RIGHTS, "it has no row in the table of rights");
    const wrong: string[] = [];
    for (const asker of await createAskers(service.database, tenant)) {
      const verdict = verdictOfAnswer(await post(action, asker.cookie));
      (answered[`POST ${action.path.replaceAll(/:\w+/gu, ":id")}`] ??= {})[asker.name] = verdict;
      const expected = verdictOf(asker, action.right);
      if (verdict !== expected && !isMissing(verdict, expected, action.path))
        wrong.push(`${asker.name}: ${verdict}, ${expected}`);
    }
    assert.deepEqual(wrong, []);
  });

  test(`the use case of ${action.name} checks the right itself`, async () => {
    const wrong: string[] = [];
    for (const standing of ROLES) {
      for (const isFresh of [true, false]) {
        const expected = verdictOf({ standing, isFresh }, action.right);
        if (expected === "allowed") continue;
        const kind = await kindOfRefusal(action, standing, isFresh);
        if (kind !== expected)
          wrong.push(`${standing}, ${isFresh ? "fresh" : "stale"}: ${kind}, ${expected}`);
      }
    }
    assert.deepEqual(wrong, []);
  });
}

/** Performs an action without HTTP, and so without the check that precedes every action. */
async function kindOfRefusal(action: FormAction, role: Role, isFresh: boolean): Promise<string> {
  const call = await callOf(action, role, isFresh);
  try {
    await action.perform(call);
    return "done";
  } catch (error) {
    return error instanceof Refusal ? error.kind : String(error);
  }
}

async function callOf({ path }: FormAction, role: Role, isFresh: boolean): Promise<ActionCall> {
  const { keys } = service;
  const { database } = service.installation;
  const workspace = await requireWorkspace(database, tenant.shopDomain);
  const id = "00000000-0000-4000-8000-000000000000";
  const session = { userId: id, sessionHash: Buffer.alloc(32) };
  const actor = { name: `user:${id}`, origin: null, standing: role, isFresh, session };
  const known: Record<string, unknown> = { database, keys, actor, workspace, now: new Date() };
  const caller = new Proxy(known, {
    get: (target, name) =>
      name in target ? Reflect.get(target, name) : name === "then" ? undefined : NOTHING,
  });
  return {
    form: new URLSearchParams(),
    bytes: Buffer.alloc(0),
    path: matchPath(path, filled(path)) ?? {},
    query: {},
    role,
    shopDomain: tenant.shopDomain,
    origin: service.address,
    href: (target: string) => target,
    caller: () => Promise.resolve(caller),
  } as unknown as ActionCall;
}

/** Stands for everything else a use case works with; using it before the right is checked fails. */
const NOTHING: unknown = new Proxy(() => {}, {
  get: (_target, name) => (name === "then" ? undefined : NOTHING),
  apply: () => {
    throw new Error("it does something before it checks the right");
  },
});

test("no action is done by a GET, and no page takes a POST", async () => {
  const owner = (await createAskers(service.database, tenant)).find(({ standing }) => standing === "owner");
  const cookie = owner?.cookie ?? "";
  for (const action of ACTIONS.filter(({ path }) => !isPage(path))) {
    const { status, headers } = await openPage(service, pathOf(action.path), cookie);
    assert.deepEqual([status, headers.get("allow")], [405, "POST"], action.name);
  }
  for (const page of EVERY_PAGE.filter(({ path }) => !isAction(path))) {
    assert.equal((await postForm(service, pathOf(page.path), {}, { cookie })).status, 405, page.name);
  }
});

test("a refused form shows its page only to whoever may see the page", () => {
  const wrong = ACTIONS.filter(({ isScript, page, right }) => {
    if (isScript === true) return false;
    return ROLES.some((role) => mayDo(role, right) && !mayDo(role, page.right));
  });
  assert.deepEqual(
    wrong.map(({ name }) => name),
    [],
  );
});

test("pages, files and actions have names of their own", () => {
  for (const list of [EVERY_PAGE, ACTIONS]) {
    const names = list.map(({ name }) => name);
    assert.deepEqual(names, [...new Set(names)]);
  }
});

/** The intended rights: the least role of each kind of action, and whether it needs a recent confirmation. */
const DESIGNED: readonly [least: Role | "operator", proof: boolean, names: readonly string[]][] = [
  ["viewer", false, ["figures.read", "settings.read", "member.leave"]],
  ["admin", false, ["windows.set", "rules.set", "watch.add", "sale_event.add", "sync.request", "import"]],
  ["admin", true, ["source.connect", "source.disconnect", "token.create", "token.rotate", "token.revoke"]],
  ["admin", false, ["usage.read", "audit.read", "members.read"]],
  ["admin", true, ["member.invite", "member.set", "member.remove", "member.recover"]],
  ["owner", true, ["member.set_owner", "plan.ask", "workspace.export", "workspace.erase"]],
  ["operator", false, ["plan.set", "workspace.create", "workspace.set", "workspace.delete", "users.read"]],
];

test("roles have the intended rights", () => {
  for (const [least, proof, names] of DESIGNED) {
    for (const name of names) {
      const right = ALL_RIGHTS[name];
      assert.deepEqual([right?.least, right?.proof ?? false], [least, proof], name);
    }
  }
});

test("the rights are unchanged", () => {
  const rights = Object.entries(ALL_RIGHTS)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, right]) => {
      const { least, proof = false } = right;
      return [
        name,
        { least, needsProof: proof, may: STANDINGS.filter((standing) => mayDo(standing, right)) },
      ];
    });
  const table = { rights: Object.fromEntries(rights), answered };
  matchSnapshot("rights.json", `${JSON.stringify(table, null, 2)}\n`);
});
