import assert from "node:assert/strict";
import { test } from "node:test";
import { useChromium } from "./support/chromium.ts";
import { makeUserLink, openPage, postForm, signInAs, userIdOf } from "./support/console-person.ts";
import { wrongLooks } from "./support/page-looks.ts";
import { startTestService } from "./support/service.ts";
import { createSmallStore } from "./support/small-store.ts";
import { createTenant } from "./support/tenants.ts";
import { before, use } from "./support/use.ts";

/** The pages of operators: who may see and do what, and that lists have pages (decision 0075). */

const service = use(startTestService);
const chromium = useChromium();
const PAGES = [
  "/operator",
  "/operator/workspace?domain=",
  "/operator/people",
  "/operator/audit",
  "/operator/health",
];
let domain = "";
let operator = "";
let owner = "";

before(async () => {
  operator = await signInAs(service, { name: "Operator" });
  const store = await createSmallStore(service.database);
  domain = store.shopDomain;
  owner = await signInAs(service, { name: "Owner of the store", shopDomain: domain });
});

const get = (path: string, cookie: string) => openPage(service, path, cookie);
const textOf = async (path: string): Promise<string> => (await get(path, operator)).text;
const post = (path: string, fields: Record<string, string>, cookie = operator) =>
  postForm(service, `/operator${path}`, fields, { cookie });
const pathOf = (path: string): string => (path.endsWith("=") ? `${path}${domain}` : path);
const idOf = (name: string): Promise<string> => userIdOf(service, name);

test("nobody is led to the sign-in and back, and a form of another site is refused", async () => {
  for (const path of PAGES.map(pathOf)) {
    const away = await get(path, "");
    assert.deepEqual([away.status, away.headers.get("location")], [303, "/sign-in"]);
    const target = /returns-target=([^;]*)/u.exec(away.headers.get("set-cookie") ?? "")?.[1] ?? "";
    assert.equal(Buffer.from(target, "base64url").toString(), path);
    assert.equal((await get(path, operator)).status, 200, path);
  }
  const foreign = { cookie: operator, origin: "https://evil.example" };
  for (const path of ["/operator/workspace", "/operator/people/disable", "/operator/people/enable"])
    assert.equal((await postForm(service, path, {}, foreign)).status, 403, path);
});

test("no figure of a store is on any page", async () => {
  const { rows } = await service.database.query<{ sku: string }>("select sku from sku");
  assert.ok(rows.length > 0);
  for (const path of PAGES.map(pathOf)) {
    const page = await textOf(path);
    for (const { sku } of rows) assert.ok(!page.includes(sku), `${path}: ${sku}`);
  }
});

test("workspaces: search, plan, readiness, use, and pages by domain", async () => {
  const tenants = [];
  for (let made = 0; made < 52; made += 1) tenants.push(await createTenant(service.database));
  const listed = (page: string): string[] =>
    [...page.matchAll(/href="\/operator\/workspace\?domain=([^"]*)"/gu)].map(([, name = ""]) => name);
  const first = await textOf("/operator");
  assert.equal(listed(first).length, 50);
  const next = /href="([^"]*)" rel="next"/u.exec(first)?.[1]?.replaceAll("&amp;", "&") ?? "";
  const all = [...listed(first), ...listed(await textOf(next))];
  const { rows } = await service.database.query<{ shop_domain: string }>(
    'select shop_domain from workspace order by shop_domain collate "C"',
  );
  assert.deepEqual(
    all,
    rows.map(({ shop_domain: each }) => each),
  );
  assert.deepEqual(listed(await textOf(`/operator?q=${domain.toUpperCase()}`)), [domain]);
  assert.match(await textOf("/operator?readiness=erasing"), /Nothing matches/u);
  await service.database.query(
    `insert into daily_usage (shop_key, day, requests)
     select shop_key, current_date - days, 7 from workspace, unnest(array[0, 29, 40]) days where shop_domain = $1
     on conflict (shop_key, day) do update set requests = 7`,
    [tenants[0]?.shopDomain],
  );
  assert.match(await textOf(`/operator?q=${tenants[0]?.shopDomain}`), /<td class="text">14<\/td>/u);
});

test("a workspace's plan and billing are set as by the command; unchanged fields stay", async () => {
  const page = await textOf(`/operator/workspace?domain=${domain}`);
  assert.match(page, /Unchanged: ready/u);
  const saved = await post("/workspace", { domain, plan: "", billing: "inactive", readiness: "" });
  assert.deepEqual(
    [saved.status, saved.headers.get("location")],
    [303, `/operator/workspace?domain=${domain}`],
  );
  const { rows } = await service.database.query(
    "select billing_status, readiness from workspace where shop_domain = $1",
    [domain],
  );
  assert.deepEqual(rows, [{ billing_status: "inactive", readiness: "ready" }]);
  for (const [plan, status, sentence] of [
    ["gold", 409, /gold/u],
    ["gold\0", 400, /Plan must be text without control characters/u],
  ] as const) {
    const wrong = await post("/workspace", { domain, plan });
    assert.equal(wrong.status, status);
    assert.match(wrong.text, sentence);
  }
  assert.match((await post("/workspace", { domain })).text, /Name at least one setting/u);
  assert.equal((await get("/operator/workspace?domain=none.example", operator)).status, 409);
  await post("/workspace", { domain, billing: "active" });
  const audit = await textOf("/operator/audit");
  assert.match(audit, /Changed settings of the workspace/u);
  assert.match(audit, new RegExp(domain.replaceAll(".", "\\."), "u"));
});

test("people are found, disabled after a confirmation, and enabled", async () => {
  const id = await idOf("Owner of the store");
  assert.match(await textOf("/operator/people?q=OWNER+of+the+store"), new RegExp(id, "u"));
  const age = (minutes: number) =>
    service.database.query(`update console_session set proved_at = now() - interval '${minutes} min'`);
  await age(11);
  const refused = await post("/people/disable", { person: id });
  assert.equal(refused.status, 403);
  assert.match(refused.text, /href="\/confirm\?next=%2Foperator%2Fpeople"/u);
  await age(0);
  assert.equal((await post("/people/disable", { person: id })).status, 303);
  assert.equal((await get(`/w/${domain}`, owner)).status, 303);
  assert.equal((await post("/people/enable", { person: id })).status, 303);
  const nobody = await post("/people/disable", { person: "x" });
  assert.deepEqual([nobody.status, /must be a person’s id/u.test(nobody.text)], [400, true]);
  const last = await post("/people/disable", { person: await idOf("Operator") });
  assert.deepEqual([last.status, /is the last operator/u.test(last.text)], [409, true]);
});

test("a name is shown as it is, whatever is in it", async () => {
  await makeUserLink(service, { name: "$& <b>" });
  assert.match(await textOf("/operator/people?q=$"), /<button[^>]*>\s*Disable \$&amp; &lt;b&gt;\s*</u);
});

test("people and actions have pages, each row once", async () => {
  for (let made = 0; made < 55; made += 1) await makeUserLink(service, { name: `Person ${made}` });
  const walk = async (path: string, each: RegExp): Promise<string[]> => {
    const found: string[] = [];
    for (let next: string | undefined = path; next !== undefined;) {
      const page = await textOf(next);
      found.push(...[...page.matchAll(each)].map(([, name = ""]) => name));
      next = /href="([^"]*)" rel="next"/u.exec(page)?.[1]?.replaceAll("&amp;", "&");
    }
    return found;
  };
  const people = await walk("/operator/people", /name="person" value="([^"]*)"/gu);
  const { rows } = await service.database.query<{ user_id: string }>(
    "select user_id from console_user order by name, user_id",
  );
  assert.deepEqual(
    people,
    rows.map(({ user_id: id }) => id),
  );
  const actions = await walk("/operator/audit", /<th scope="row">([^<]*)</gu);
  const { rows: events } = await service.database.query<{ count: string }>(
    "select (select count(*) from audit_event) + (select count(*) from identity_event) as count",
  );
  assert.equal(actions.length, Number(events[0]?.count));
  const id = "00000000-0000-0000-0000-000000000000";
  for (const after of ["x", `2026-02-30T10:00:00.000000Z~${id}`, `0000-01-01T10:00:00.000000Z~${id}`])
    assert.equal((await get(`/operator/audit?after=${after}`, operator)).status, 400, after);
});

test("health shows what fires, and the age of the newest backup", async () => {
  assert.match(await textOf("/operator/health"), /ReturnsBackupMissing/u);
  await service.database.query("update installation set backed_up_at = now() - interval '2 hours'");
  const page = await textOf("/operator/health");
  assert.match(page, /the newest is 2 h old/u);
  assert.match(page, /ReturnsNoWorker/u);
});

test("a former operator is refused with the next request", async () => {
  const cookie = await signInAs(service, { name: "Second operator" });
  const set = (value: boolean) =>
    service.database.query("update console_user set is_operator = $1 where name = 'Second operator'", [
      value,
    ]);
  await set(true);
  assert.equal((await get("/operator", cookie)).status, 200);
  await set(false);
  assert.equal((await get("/operator", cookie)).status, 403);
  assert.equal((await post("/workspace", { domain, billing: "inactive" }, cookie)).status, 403);
});

test("the pages look right", async (context) => {
  await chromium.withPage(context, { as: { cookie: operator, home: service.address } }, async (page) => {
    for (const path of PAGES.map(pathOf)) {
      await page.goto(`${service.address}${path}`);
      assert.deepEqual(await wrongLooks(page, path), []);
    }
  });
});
