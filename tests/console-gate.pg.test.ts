import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { FILES, PAGES } from "../src/console/registry.ts";
import { exportReport } from "../src/contract/export-report.ts";
import { ENTITLEMENTS } from "../src/contract/endpoint.ts";
import { report } from "../src/contract/report.ts";
import { recordStatements } from "./support/asked-statements.ts";
import type { AskedStatements } from "./support/asked-statements.ts";
import { signInAs } from "./support/console-person.ts";
import { CANARY, copyAsForeign } from "./support/foreign-tenant.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { seedSmallStore } from "./support/small-store.ts";
import { changePlan, changeWorkspace, countedRequests, createTenant } from "./support/tenants.ts";
import type { Tenant } from "./support/tenants.ts";

/** The pages of the running service behind the second gate: what they cost, what they refuse, and whose data they show. */

const MONTHS = "start_month=2025-01&end_month=2026-03";
const PATHS = PAGES.map(({ path }) => path);
const CSV = FILES.map(({ path }) => `${path}?${MONTHS}`);
const ALL = [...PATHS, ...CSV];
/** What is asked of each page beside its own address. */
const VIEWS = [
  "",
  `?${MONTHS}`,
  `?${MONTHS}&sku=JACKET-M`,
  `?${MONTHS}&product_gid=${encodeURIComponent("gid://shopify/Product/1")}`,
  `?${MONTHS}&product_group_type=family&product_group_key=Outerwear`,
  `?${MONTHS}&include_incomplete=true`,
];

type Served = { status: number; headers: Headers; text: string };

let statements: AskedStatements;
let service: TestService;
let tenant: Tenant;
let cookie: string;

before(async () => {
  statements = recordStatements();
  service = await startTestService();
  tenant = await createTenant(service.database);
  await seedSmallStore(service.database, tenant.shopKey);
  cookie = await signInAs(service, { name: "Member", shopDomain: tenant.shopDomain });
});
afterEach(async () => {
  await changePlan(service.database, tenant, { entitlements: ENTITLEMENTS });
  await changeWorkspace(service.database, tenant, { billing_status: "active", readiness: "ready" });
});
after(async () => {
  statements.stop();
  await service.stop();
});

async function getAs(
  session: string,
  { shopDomain }: Pick<Tenant, "shopDomain">,
  path: string,
): Promise<Served> {
  const response = await fetch(`${service.address}/w/${shopDomain}${path}`, {
    redirect: "manual",
    headers: { cookie: session },
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const get = (path: string): Promise<Served> => getAs(cookie, tenant, path);

async function statusesOf(paths: readonly string[]): Promise<number[]> {
  const statuses = [];
  for (const path of paths) statuses.push((await get(path)).status);
  return statuses;
}

/** Every one of the paths answers with this status. */
async function expectAll(status: number, paths: readonly string[] = ALL): Promise<void> {
  assert.deepEqual(
    await statusesOf(paths),
    paths.map(() => status),
    paths.join(" "),
  );
}

/** The status that the API gives a token of the workspace. */
async function apiStatus({ path }: { path: string }, query = MONTHS): Promise<number> {
  const { status } = await service.call(path, { token: tenant.token, params: query });
  return status;
}

test("every page and file is served, in each of its views, and none of them is counted", async () => {
  const rows = async () => (await service.database.query("select * from daily_usage order by 1, 2")).rows;
  assert.equal(await apiStatus(report), 200);
  const counted = await rows();
  for (const path of PATHS)
    await expectAll(
      200,
      VIEWS.map((view) => path + view),
    );
  await expectAll(200, CSV);
  assert.deepEqual(await rows(), counted);
});

test("a used-up quota stops no page", async () => {
  await service.database.query("delete from daily_usage");
  await changePlan(service.database, tenant, { dailyQuota: 0 });
  assert.equal(await apiStatus(report), 429);
  await expectAll(200);
  assert.equal(await countedRequests(service.database, tenant), 0);
  await changePlan(service.database, tenant, { dailyQuota: 1000 });
});

test("what pages ask the database is in the registry of statements, and what is remembered costs two of them", async () => {
  await expectAll(200);
  statements.forget();
  await expectAll(200);
  assert.deepEqual(statements.unregistered(), []);
  assert.deepEqual(statements.names().toSorted(), ["find_member", "load_workspace"]);
});

test("a page keeps its session alive, writing at most every five minutes, and / leads to its workspace", async () => {
  const { database } = service;
  const other = await createTenant(database);
  const own = await signInAs(service, { name: "Visitor", shopDomain: tenant.shopDomain });
  await signInAs(service, { name: "Visitor", shopDomain: other.shopDomain });
  const ofVisitor = "user_id = (select user_id from console_user where name = 'Visitor')";
  const idleHours = async (): Promise<number[]> => {
    const { rows } = await database.query<{ hours: number }>(
      `select round(extract(epoch from idle_until - now()) / 3600)::integer as hours from console_session
        where ${ofVisitor} order by created_at`,
    );
    return rows.map(({ hours }) => hours);
  };
  const age = (minutes: number) =>
    database.query(
      `update console_session set last_seen_at = now() - make_interval(mins => $1),
              idle_until = now() + interval '2 hours' where ${ofVisitor}`,
      [minutes],
    );
  await age(4);
  assert.equal((await getAs(own, other, "")).status, 200);
  assert.deepEqual(await idleHours(), [2, 2]);
  await age(6);
  for (const { shopDomain } of [tenant, other]) {
    assert.equal((await getAs(own, { shopDomain }, "")).status, 200);
    assert.deepEqual(await idleHours(), [12, 2]);
    const home = await fetch(`${service.address}/`, { redirect: "manual", headers: { cookie: own } });
    assert.equal(home.headers.get("location"), `/w/${shopDomain}`);
  }
});

describe("a change bites on the very next page, as it does for the API", () => {
  test("billing: 403", async () => {
    await changeWorkspace(service.database, tenant, { billing_status: "inactive" });
    assert.equal(await apiStatus(report), 403);
    await expectAll(403);
    await changeWorkspace(service.database, tenant, { billing_status: "active" });
    await expectAll(200);
  });

  test("readiness: 409, with no figure", async () => {
    for (const readiness of ["installing", "backfilling", "reconnecting"]) {
      await changeWorkspace(service.database, tenant, { readiness });
      assert.equal(await apiStatus(report), 409);
      await expectAll(409);
      for (const path of ALL) assert.doesNotMatch((await get(path)).text, /data-from|returned_units/u);
    }
    await changeWorkspace(service.database, tenant, { readiness: "ready" });
    await expectAll(200);
  });

  test("a plan without data_export: 403 for the file alone, before readiness", async () => {
    await changePlan(service.database, tenant, { entitlements: ["api_access", "full_leaderboards"] });
    assert.equal(await apiStatus(exportReport), 403);
    await expectAll(403, CSV);
    await expectAll(200, PATHS);
    await changeWorkspace(service.database, tenant, { readiness: "installing" });
    assert.equal(await apiStatus(exportReport), 403);
    await expectAll(403, CSV);
  });

  test("a plan without api_access serves every page, and no request", async () => {
    await changePlan(service.database, tenant, { entitlements: ["data_export"] });
    assert.equal(await apiStatus(report), 403);
    await expectAll(200);
  });

  test("a member who is removed: 404; a new one: 200", async () => {
    const { database } = service;
    const ofMember = "shop_key = $1 and user_id = (select user_id from console_user where name = 'Member')";
    await database.query(`delete from workspace_member where ${ofMember}`, [tenant.shopKey]);
    await expectAll(404);
    await database.query(
      `insert into workspace_member (shop_key, user_id, role)
       select $1, user_id, 'viewer' from console_user where name = 'Member'`,
      [tenant.shopKey],
    );
    await expectAll(200);
  });

  test("a person who is disabled, a session that has ended: to the sign-in page", async () => {
    const { database } = service;
    const own = await signInAs(service, { name: "Leaving", shopDomain: tenant.shopDomain });
    const expectStatus = async (status: number): Promise<void> => {
      for (const path of ALL) {
        const { status: given, headers } = await getAs(own, tenant, path);
        assert.equal(given, status, path);
        assert.equal(headers.get("location"), status === 303 ? "/sign-in" : null);
      }
    };
    await expectStatus(200);
    await database.query("update console_user set disabled_at = now() where name = 'Leaving'");
    await expectStatus(303);
    await database.query("update console_user set disabled_at = null where name = 'Leaving'");
    await expectStatus(200);
    await database.query(
      `update console_session s set idle_until = now() from console_user u
        where u.user_id = s.user_id and u.name = 'Leaving'`,
    );
    await expectStatus(303);
  });
});

test("bad input is refused with the API's sentence", async () => {
  for (const query of [`${MONTHS}&sku=GONE`, "start_month=2026-13&end_month=2026-03"]) {
    const answer = await service.call(report.path, { token: tenant.token, params: query });
    const [first = ""] = answer.message().split(/["'&<]/u);
    for (const path of ["/report", "/export/report.csv"]) {
      const page = await get(`${path}?${query}`);
      assert.deepEqual([page.status, answer.status], [400, 400], path);
      assert.ok(page.text.includes(first), first);
    }
  }
});

describe("another tenant", () => {
  let foreign: Tenant;
  let ofForeign: string;

  before(async () => {
    const model = await createTenant(service.database);
    await seedSmallStore(service.database, model.shopKey);
    foreign = await createTenant(service.database);
    await copyAsForeign(service.database, model.shopKey, foreign.shopKey);
    ofForeign = await signInAs(service, { name: "Stranger", shopDomain: foreign.shopDomain });
    await service.database.query("update workspace set data_version = data_version + 1");
  });

  test("a foreign workspace and a missing one give the same bytes and headers, whatever the page", async () => {
    for (const path of [...ALL, "/nothing"]) {
      const [theirs, missing] = [
        await getAs(cookie, foreign, path),
        await getAs(cookie, { shopDomain: "missing.example" }, path),
      ];
      assert.deepEqual([theirs.status, missing.status], [404, 404], path);
      assert.equal(theirs.text, missing.text);
      assert.deepEqual(comparable(theirs.headers), comparable(missing.headers));
    }
  });

  test("a page that is not there is 404 in one's own workspace", async () => {
    await expectAll(404, ["/nothing", "/report/more", "/export"]);
    assert.equal((await service.call("/api/v1/nothing", { token: tenant.token })).status, 404);
  });

  test("nothing of it is in any page, header, log or file", async () => {
    const logged = service.logs.length;
    const asked = [...PATHS.flatMap((path) => VIEWS.map((view) => path + view)), ...CSV];
    for (const path of asked) {
      const { status, headers, text } = await get(path);
      assert.equal(status, 200, path);
      assert.ok(![...headers].flat().join("\n").includes(CANARY), path);
      assert.ok(!text.includes(CANARY), path);
    }
    assert.ok(!service.logs.slice(logged).some((line) => line.includes(CANARY)));
  });

  test("its own member does see it there", async () => {
    for (const path of ALL) {
      const { status, text } = await getAs(ofForeign, foreign, path);
      assert.equal(status, 200, path);
      assert.ok(text.includes(CANARY), path);
    }
  });
});

/** All but what differs between any two answers. */
function comparable(headers: Headers): [string, string][] {
  return [...headers].filter(([name]) => name !== "date" && name !== "x-request-id");
}
