import assert from "node:assert/strict";
import { after, afterEach, before, describe, mock, test } from "node:test";
import { exportReport } from "../src/contract/export-report.ts";
import { ENTITLEMENTS } from "../src/contract/endpoint.ts";
import { report } from "../src/contract/report.ts";
import { recordStatements, type AskedStatements } from "./support/asked-statements.ts";
import { openPage, signInAs } from "./support/console-person.ts";
import { ALL_PATHS, FILE_PATHS, MONTHS, PAGE_PATHS } from "./support/console-pages.ts";
import { wordsOf } from "./support/page-figures.ts";
import { visitorOf } from "./support/scene.ts";
import { execute, urlOfDatabase } from "./support/server.ts";
import { startTestService, type TestService } from "./support/service.ts";
import { createSmallStore } from "./support/small-store.ts";
import { withoutTable } from "./support/table-away.ts";
import { changePlan, changeWorkspace, countedRequests, createTenant } from "./support/tenants.ts";
import type { Tenant } from "./support/tenants.ts";

/** The pages of the running service behind member admission: the statements they run and the requests they refuse. */

let statements: AskedStatements;
let service: TestService;
let tenant: Tenant;
let cookie: string;

before(async () => {
  statements = recordStatements();
  service = await startTestService();
  tenant = await createSmallStore(service.database);
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

const get = (path: string, by = cookie, of = tenant.shopDomain) => visitorOf(service, of, by).get(path);

async function statusesOf(paths: readonly string[]): Promise<number[]> {
  const statuses = [];
  for (const path of paths) statuses.push((await get(path)).status);
  return statuses;
}

/** Every one of the paths answers with this status. */
async function expectAll(status: number, paths: readonly string[] = ALL_PATHS): Promise<void> {
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

test("every page and file is served, and none of them is counted", async () => {
  const rows = async () => (await service.database.query("select * from daily_usage order by 1, 2")).rows;
  assert.equal(await apiStatus(report), 200);
  const counted = await rows();
  await expectAll(200);
  await expectAll(200, ["?period=constructor", "/products?period=toString"]);
  assert.deepEqual(await rows(), counted);
});

test("a used-up quota and a failed source stop no page, and pages report both", async () => {
  const { database } = service;
  const setSource = (status: string) =>
    database.query("update data_source set status = $2 where shop_key = $1 and kind = 'store'", [
      tenant.shopKey,
      status,
    ]);
  await database.query("delete from daily_usage");
  await changePlan(database, tenant, { dailyQuota: 1 });
  await setSource("failed");
  assert.deepEqual([await apiStatus(report), await apiStatus(report)], [200, 429]);
  await expectAll(200, [...ALL_PATHS, ...SECTIONS, "/products?type=all", "/cohorts?period=all"]);
  assert.match((await get("")).text, /The last attempt failed; it will be retried/u);
  assert.match(wordsOf((await get("/settings/usage")).text), /Used 1 of 1 requests/u);
  assert.equal(await countedRequests(database, tenant), 1);
  await changePlan(database, tenant, { dailyQuota: 1000 });
  await setSource("ok");
});

/** Of the report. */
const SECTIONS = ["reasons", "timing", "costs"].map((section) => `/report?reportSection=${section}`);

test("pages run only registered statements", async () => {
  await service.database.query("update workspace set data_version = data_version + 1");
  statements.forget();
  await expectAll(200);
  assert.deepEqual(statements.unregistered(), []);
  assert.ok(statements.names().includes("list_alerts"));
});

test("a page keeps its session alive, writing at most every five minutes, and / redirects to its workspace", async () => {
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
  assert.equal((await get("", own, other.shopDomain)).status, 200);
  assert.deepEqual(await idleHours(), [2, 2]);
  await age(6);
  for (const { shopDomain } of [tenant, other]) {
    assert.equal((await get("", own, shopDomain)).status, 200);
    assert.deepEqual(await idleHours(), [12, 2]);
    const home = await openPage(service, "/", own);
    assert.equal(home.headers.get("location"), `/w/${shopDomain}`);
  }
});

describe("a change takes effect on the next page, as it does for the API", () => {
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
      for (const path of ALL_PATHS) assert.doesNotMatch((await get(path)).text, /data-from|returned_units/u);
    }
    await changeWorkspace(service.database, tenant, { readiness: "ready" });
    await expectAll(200);
  });

  test("a plan without data_export: 403 for the file alone, before readiness", async () => {
    await changePlan(service.database, tenant, { entitlements: ["api_access", "full_leaderboards"] });
    assert.equal(await apiStatus(exportReport), 403);
    await expectAll(403, FILE_PATHS);
    await expectAll(200, PAGE_PATHS);
    assert.match((await get(FILE_PATHS[0] ?? "")).text, /does not include downloads as CSV\./u);
    await changeWorkspace(service.database, tenant, { readiness: "installing" });
    assert.equal(await apiStatus(exportReport), 403);
    await expectAll(403, FILE_PATHS);
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

  test("a disabled person, an ended session: redirect to the sign-in page", async () => {
    const { database } = service;
    const own = await signInAs(service, { name: "Leaving", shopDomain: tenant.shopDomain });
    const expectStatus = async (status: number): Promise<void> => {
      for (const path of ALL_PATHS) {
        const { status: given, headers } = await get(path, own);
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

test("an unknown page is 404, as in the API", async () => {
  await expectAll(404, ["/nothing", "/report/more", "/export"]);
  assert.equal((await service.call("/api/v1/nothing", { token: tenant.token })).status, 404);
});

test("a person has 300 pages a minute, with any number of sessions: 429 with Retry-After; others go on", async () => {
  mock.timers.enable({ apis: ["Date"], now: Date.now() });
  try {
    const hasty = { name: "Hasty", shopDomain: tenant.shopDomain };
    const sessions = [await signInAs(service, hasty), await signInAs(service, hasty)];
    let opened = 0;
    const open = () => get("/nothing", sessions[(opened += 1) % 2]);
    for (let pages = 0; pages < 300; pages += 1) assert.equal((await open()).status, 404);
    const { status, headers } = await open();
    assert.deepEqual([status, headers.get("retry-after")], [429, "60"]);
    assert.equal((await get("/nothing")).status, 404);
    mock.timers.tick(60_000);
    assert.equal((await open()).status, 404);
  } finally {
    mock.timers.reset();
  }
});

test("a page that fails is a plain 500 with the request's id, whatever was requested before", async () => {
  const { database, logs } = service;
  for (const table of ["workspace_member", "cohort"]) {
    await database.query("update workspace set data_version = data_version + 1");
    const page = await withoutTable(database, table, () => get("/report"));
    assert.equal(page.status, 500, table);
    assert.match(page.headers.get("content-type") ?? "", /^text\/html/u);
    assert.ok(page.text.includes(page.headers.get("x-request-id") ?? "none"));
    assert.doesNotMatch(page.text, /relation|does not exist/u);
    assert.ok(
      logs.some((line) => line.includes(`relation \\"${table}\\" does not exist`)),
      table,
    );
  }
  await expectAll(200);
});

test("with the database away: 503 with Retry-After and no detail, then recovery", async () => {
  const name = new URL(service.databaseUrl).pathname.slice(1);
  const server = urlOfDatabase(service.databaseUrl, "postgres");
  await execute(server, `alter database ${name} with allow_connections false`);
  await execute(
    server,
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}' and pid <> pg_backend_pid()`,
  );
  try {
    for (const path of ALL_PATHS) {
      const { status, headers, text } = await get(path);
      assert.deepEqual([status, headers.get("retry-after")], [503, "5"], path);
      assert.ok(!text.includes(name), path);
    }
    for (const path of ["/", "/w", "/sign-in"]) {
      const home = await openPage(service, path, cookie);
      assert.deepEqual([home.status, home.headers.get("retry-after")], [503, "5"], path);
      assert.match(home.text, /The database does not answer/u);
    }
  } finally {
    await execute(server, `alter database ${name} with allow_connections true`);
  }
  await expectAll(200);
});

test("a file without its months redirects to the report, which needs none", async () => {
  const { status, text } = await get("/export/report.csv");
  assert.equal(status, 400);
  assert.ok(text.includes(`href="/w/${tenant.shopDomain}/report"`));
  assert.ok(!text.includes(`href="/w/${tenant.shopDomain}/export/report.csv"`));
});

test("bad input is refused with the API's sentence, in the words of pages", async () => {
  for (const [query, name, label] of [
    [`${MONTHS}&sku=GONE`, "sku", "SKU"],
    ["start_month=2026-13&end_month=2026-03", "start_month", "First month of orders"],
  ] as const) {
    const answer = await service.call(report.path, { token: tenant.token, params: query });
    const first =
      answer
        .message()
        .split(/["'&<;]/u)[0]
        ?.replace(name, label) ?? "";
    for (const path of ["/report", "/export/report.csv"]) {
      const page = await get(`${path}?${query}`);
      assert.deepEqual([page.status, answer.status], [400, 400], path);
      assert.ok(page.text.includes(first), first);
    }
  }
});
