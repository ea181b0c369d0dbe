import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { DEMO_STORE } from "../src/demo/demo-store-facts.ts";
import { recordStatements, type AskedStatements } from "./support/asked-statements.ts";
import { openPage, postForm, signInAs } from "./support/console-person.ts";
import { wordsOf } from "./support/page-figures.ts";
import { actAs } from "./support/scene.ts";
import { startTestService, type TestService } from "./support/service.ts";
import { seedSmallStore } from "./support/small-store.ts";
import { changeWorkspace, createTenant, createTokenOf, insertRows } from "./support/tenants.ts";
import type { Tenant, TenantOptions } from "./support/tenants.ts";
import { connectShop, rowsOf } from "./support/webhooks.ts";
import { makeWorkspace } from "./support/workspace.ts";

/** What a person without figures sees: the ways to get data, and the list of remaining setup steps. */

let statements: AskedStatements;
let service: TestService;
/** Cookie of the first person, who is the operator. */
let operator: string;

before(async () => {
  statements = recordStatements();
  service = await startTestService();
  operator = await signInAs(service);
});
after(async () => {
  statements.stop();
  await service.stop();
});

async function get(path: string, cookie: string) {
  const { status, headers, text } = await openPage(service, path, cookie);
  return { status, location: headers.get("location"), text };
}

test("an operator without a workspace is redirected to the ways to get data, and creates one there", async () => {
  const home = await get("/", operator);
  assert.deepEqual([home.status, home.location], [303, "/w"]);
  const { text } = await get("/w", operator);
  assert.match(wordsOf(text), /Connect Shopify Connect WooCommerce Upload files/u);
  assert.doesNotMatch(text, /demo/u);

  for (const [fields, status, sentence] of [
    [{ domain: "a <b>", currency: "EUR" }, 400, /The domain must be a host name/u],
    [{ domain: "one.example", currency: "<b>" }, 400, /The currency must be a code of ISO 4217/u],
  ] as const) {
    const refused = await postForm(service, "/w", fields, { cookie: operator });
    assert.equal(refused.status, status);
    assert.match(wordsOf(refused.text), sentence);
    assert.ok(!refused.text.includes("<b>"));
    assert.ok(refused.text.includes(`value="${fields.domain.replace("<b>", "&lt;b&gt;")}"`));
  }
  const sent = { domain: "One.example", currency: "eur", way: "shopify" };
  const made = await postForm(service, "/w", sent, { cookie: operator });
  assert.equal(made.status, 303);
  assert.equal(made.headers.get("location"), "/w/one.example/settings/sources/shopify/connect");
  const connect = await get("/w/one.example/settings/sources/shopify/connect", operator);
  assert.equal(connect.status, 200);
  const unknown = { domain: "odd.example", currency: "eur", way: "constructor" };
  const without = await postForm(service, "/w", unknown, { cookie: operator });
  assert.equal(without.headers.get("location"), "/w/odd.example");
  const taken = await postForm(service, "/w", sent, { cookie: operator });
  assert.equal(taken.status, 409);
  const { rows } = await service.database.query(
    `select a.action, a.actor = 'user:' || u.user_id as is_theirs, a.origin, m.role
       from audit_event a, console_user u join workspace_member m using (user_id) join shop_directory d using (shop_key)
      where u.is_operator and d.shop_domain = 'one.example' and a.shop_key = d.shop_key order by a.action`,
  );
  const by = { is_theirs: true, origin: "127.0.0.1", role: "owner" };
  assert.deepEqual(rows, [
    { action: "member.set", ...by },
    { action: "workspace.create", ...by },
  ]);
});

test("others cannot create a workspace, and are told who can", async () => {
  const cookie = await signInAs(service, { name: "Nobody" });
  assert.equal((await get("/", cookie)).location, "/w");
  assert.doesNotMatch((await get("/w", cookie)).text, /New workspace/u);
  assert.match((await get("/w", operator)).text, /New workspace/u);
  const { text } = await get("/w", cookie);
  assert.match(wordsOf(text), /The operator of this service can create one/u);
  assert.doesNotMatch(text, /action="\/w"/u);
  const sent = { domain: "two.example", currency: "EUR" };
  const refused = await postForm(service, "/w", sent, { cookie });
  assert.equal(refused.status, 403);
  const { rows } = await service.database.query(
    "select from shop_directory where shop_domain = 'two.example'",
  );
  assert.equal(rows.length, 0);
});

test("a request without a session is redirected to the sign-in, and another site's form is refused", async () => {
  assert.equal((await get("/w", "")).location, "/sign-in");
  const sent = { domain: "three.example", currency: "EUR" };
  assert.equal((await postForm(service, "/w", sent, {})).status, 303);
  const foreign = { cookie: operator, origin: "https://other.example" };
  assert.equal((await postForm(service, "/w", sent, foreign)).status, 403);
});

test("people who may see the demo find it there", async () => {
  await makeWorkspace(service.installation.database, DEMO_STORE.domain);
  const cookie = await signInAs(service, { name: "Visitor", shopDomain: DEMO_STORE.domain });
  assert.match((await get("/w", cookie)).text, /href="\/w\/demo-store\.example"/u);
});

/** A workspace with a member of each role. */
async function workspace(options: TenantOptions = {}) {
  const tenant = await createTenant(service.database, options);
  const members = {
    viewer: await actAs(service, tenant, "viewer"),
    admin: await actAs(service, tenant, "admin"),
  };
  const page = (role: "viewer" | "admin", path = "") => members[role].get(path);
  return { tenant, page, cookieOf: (role: "viewer" | "admin") => members[role].cookie };
}

test("if a workspace is not ready, those who may are linked to what makes it ready", async () => {
  const at = (tenant: Tenant, path: string): string => `href="/w/${tenant.shopDomain}${path}"`;
  for (const [readiness, ...paths] of [
    ["installing", "/settings/sources/shopify/connect", "/settings/imports", "/settings/sources"],
    ["backfilling", "/settings/sources/shopify/progress"],
    ["reconnecting", "/settings/sources/shopify/connect"],
  ]) {
    const { tenant, page } = await workspace({ readiness: readiness ?? "" });
    if (readiness !== "installing")
      await connectShop(service, tenant.shopKey, `s-${tenant.shopKey}.myshopify.com`);
    const { status, text } = await page("admin");
    assert.equal(status, 409);
    const [, article = ""] = text.split("<article");
    for (const path of paths) assert.ok(article.includes(at(tenant, path)), `${readiness}: ${path}`);
    const viewer = (await page("viewer")).text;
    assert.match(viewer, /An admin or an owner of this workspace can fix this/u);
    assert.ok(!viewer.slice(viewer.indexOf("<article")).includes("/settings/"));
  }
});

test("the banner of an out-of-date source links those who may to what repairs it", async () => {
  for (const [change, path] of [
    ["status = 'failed'", "/settings/sources/shopify"],
    ["status = 'disconnected'", "/settings/sources/shopify/connect"],
  ] as const) {
    const { tenant, page } = await workspace();
    await seedSmallStore(service.database, tenant.shopKey);
    await connectShop(service, tenant.shopKey, `s-${tenant.shopKey}.myshopify.com`);
    await service.database.query(
      `update data_source set ${change} where shop_key = $1 and source = 'shopify'`,
      [tenant.shopKey],
    );
    const link = `href="/w/${tenant.shopDomain}${path}"`;
    const bannerOf = (text: string): string => /<p class="banner warn".*?<\/p>/su.exec(text)?.[0] ?? "";
    const banners = (text: string): string =>
      text
        .split('<p class="banner warn"')
        .slice(1)
        .map((each) => bannerOf(`<p class="banner warn"${each}`))
        .join("");
    assert.ok(banners((await page("admin")).text).includes(link), path);
    assert.ok(!banners((await page("viewer")).text).includes("/settings/"));
  }
});

const OWN_STATEMENTS = ["find_member", "load_workspace"];
/** Usage of earlier requests is written at any time. */
const asked = (): string[] => statements.names().filter((name) => name !== "add_usage");

test("the overview lists the remaining setup steps until they are done, with one more statement", async () => {
  const { tenant, page } = await workspace();
  const { shopKey } = tenant;
  await seedSmallStore(service.database, shopKey);
  await changeWorkspace(service.database, tenant, { is_setup_open: "true" });
  await service.database.query("delete from data_source where kind = 'label_cost' and shop_key = $1", [
    shopKey,
  ]);
  await service.database.query("delete from api_token where shop_key = $1", [shopKey]);
  await page("admin");
  statements.forget();
  const { text } = await page("admin");
  assert.deepEqual(asked(), [...OWN_STATEMENTS, "read_setup"]);
  assert.match(wordsOf(text), /3 of 5 setup steps are left/u);
  for (const path of ["sources", "windows", "tokens"]) {
    assert.ok(text.includes(`<a href="/w/${tenant.shopDomain}/settings/${path}">`), path);
  }
  statements.forget();
  assert.doesNotMatch((await page("viewer")).text, /steps of the setup/u);
  assert.ok(!statements.names().includes("read_setup"));

  await insertRows(service.database, "data_source", [
    { shop_key: shopKey, source: "csv_labels", kind: "label_cost", last_synced_at: "2026-07-01T06:00:00Z" },
  ]);
  await insertRows(service.database, "audit_event", [
    { shop_key: shopKey, actor: "x", action: "windows.set", detail: {} },
  ]);
  assert.match(wordsOf((await page("admin")).text), /1 of 5 setup steps are left/u);
  await createTokenOf(service.database, shopKey);
  assert.doesNotMatch((await page("admin")).text, /steps of the setup/u);
  statements.forget();
  await page("admin");
  assert.deepEqual(asked(), OWN_STATEMENTS);
});

test("an admin hides the list, for everybody", async () => {
  const { tenant, page, cookieOf } = await workspace();
  await changeWorkspace(service.database, tenant, { is_setup_open: "true" });
  assert.match((await page("admin")).text, /setup steps are left/u);
  const path = `/w/${tenant.shopDomain}/setup/close`;
  assert.equal((await postForm(service, path, {}, { cookie: cookieOf("viewer") })).status, 403);
  assert.equal((await postForm(service, path, {}, { cookie: cookieOf("admin") })).status, 303);
  assert.doesNotMatch((await page("admin")).text, /steps of the setup/u);
  const events = await rowsOf<{ action: string }>(service, "audit_event", tenant.shopKey, "action, actor");
  assert.ok(events.some(({ action }) => action === "setup.close"));
});
