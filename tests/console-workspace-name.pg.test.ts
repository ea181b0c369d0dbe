import assert from "node:assert/strict";
import { test } from "node:test";
import { openPage } from "./support/console-person.ts";
import { actAs, auditOf } from "./support/scene.ts";
import { service } from "./support/shared-service.ts";
import { createTenant, insertRows } from "./support/tenants.ts";

/** The name of a workspace, and switching to another one. */

const tenant = await createTenant(service.database);
const other = await createTenant(service.database);
const owner = await actAs(service, tenant, "owner", "Olga <b>");
const stranger = await actAs(service, other, "owner", "Stranger");
const DATA = "/settings/data";
const SETTINGS = "/settings/windows";

const open = async (address: string, cookie: string): Promise<string> =>
  (await openPage(service, address, cookie)).text;

test("an admin names the workspace: pages, lists and invitations use the name, addresses keep the domain", async () => {
  const name = `Lamps & "More" <i>`;
  const sent = await owner.post(`${DATA}/name`, { display_name: `  ${name} ` });
  assert.deepEqual([sent.status, sent.done], [303, `The workspace is now called ${name}.`]);
  const shown = "Lamps &amp; &quot;More&quot; &lt;i&gt;";
  const page = (await owner.get(SETTINGS)).text;
  assert.match(page, new RegExp(`<title>[^<]*${shown}`, "u"));
  assert.match(page, new RegExp(`class="place"[^>]*>${shown}<`, "u"));
  assert.match(await open("/w", owner.cookie), new RegExp(`href="/w/${tenant.shopDomain}">${shown}<`, "u"));
  assert.doesNotMatch(await open("/w", stranger.cookie), /Lamps/u);
  const invited = await owner.post("/settings/members", { name: "Ada", role: "admin" });
  const [, mail = ""] = /href="mailto:\?([^"]+)"/u.exec(invited.text) ?? [];
  const { subject, body } = Object.fromEntries(new URLSearchParams(mail.replaceAll("&amp;", "&")));
  assert.equal(subject, `Olga <b> invites you to ${name} on Returns Analytics`);
  assert.match(
    body ?? "",
    /^Ada,\n\nOlga <b> invites you to Returns Analytics for Lamps & "More" <i>, as an admin\. The link signs you in\. /u,
  );
  assert.deepEqual(
    (await auditOf(service, tenant)).find(({ action }) => action === "workspace.name"),
    {
      action: "workspace.name",
      detail: { display_name: name },
      before: { display_name: tenant.shopDomain },
    },
  );
});

test("a name that is too long or has line breaks, invisible or direction characters is refused at its field", async () => {
  for (const name of ["a\r\nBcc: x@y.example", "a\u202eb", "a\u200bb", "\u0000", "x".repeat(61)]) {
    const { status, text } = await owner.post(`${DATA}/name`, { display_name: name });
    assert.equal(status, 400, JSON.stringify(name));
    assert.match(text, /aria-invalid="true"/u);
  }
  assert.equal((await owner.post(`${DATA}/name`, { display_name: " " })).status, 303);
  assert.match((await owner.get(SETTINGS)).text, new RegExp(`class="place"[^>]*>${tenant.shopDomain}<`, "u"));
});

test("another workspace opens at the same page and months, without parameters that only apply to this one", async () => {
  const way = async (path: string): Promise<string> => {
    const [, href = ""] = /class="place" href="([^"]+)"/u.exec((await owner.get(path)).text) ?? [];
    const list = await open(href.replaceAll("&amp;", "&"), owner.cookie);
    return (new RegExp(`href="(/w/${tenant.shopDomain}[^"]*)"`, "u").exec(list)?.[1] ?? "").replace(
      `/w/${tenant.shopDomain}`,
      "",
    );
  };
  assert.equal(await way(SETTINGS), SETTINGS);
  assert.equal(await way("/settings/members"), "/settings/members");
  const led = async (page: string) => {
    const list = await open(`/w?page=${encodeURIComponent(page)}`, owner.cookie);
    return new RegExp(`href="/w/${tenant.shopDomain}([^"]*)"`, "u").exec(list)?.[1];
  };
  assert.equal(
    await led("/report?start_month=2026-01&end_month=2026-02&sku=A&x=1"),
    "/report?start_month=2026-01&amp;end_month=2026-02",
  );
  for (const page of [
    "//evil.example",
    "/nowhere",
    "/settings/tokens/abc",
    '/report"><script>',
    "https://evil.example",
  ])
    assert.ok(["", "/report"].includes((await led(page)) ?? "-"), page);
});

test("a person with many workspaces searches and pages through them, and sees nobody else's", async () => {
  const many = await actAs(service, await createTenant(service.database), "viewer", "Many");
  const mine = Array.from({ length: 60 }, (_, n) => `many-${String(n).padStart(2, "0")}.example`);
  const prefix = tenant.shopDomain;
  const { rows: made } = await service.database.query<{ shop_key: string; shop_domain: string }>(
    `insert into shop_directory (shop_domain, display_name)
     select $1 || '.' || d, case when n = 33 then 'Käthe 100% "Lamps"' end
       from unnest($2::text[]) with ordinality u (d, n) returning shop_key, shop_domain`,
    [prefix, mine],
  );
  await insertRows(
    service.database,
    "workspace",
    made.map(({ shop_key, shop_domain }) => ({
      shop_key,
      organization_id: shop_domain,
      shop_id: shop_domain,
      shop_domain,
      currency_code: "EUR",
      plan_key: `plan-${tenant.shopKey}`,
    })),
  );
  await service.database.query(
    `insert into workspace_member (shop_key, user_id, role, created_at)
     select d.shop_key, (select user_id from console_user where name = 'Many'), 'viewer', now()
       from shop_directory d where d.shop_key = any($1)`,
    [made.map(({ shop_key }) => shop_key)],
  );
  const list = async (query: string) => {
    const page = (await open(`/w${query}`, many.cookie)).replaceAll("&amp;", "&");
    const found = [...page.matchAll(/href="\/w\/([^"/?]+)[^"]*"/gu)].map(([, domain]) => domain);
    return { page, found, next: /href="(\/w\?[^"]*)" rel="next"/u.exec(page)?.[1]?.slice("/w".length) };
  };
  const first = await list("?page=/settings/members");
  assert.equal(first.found.length, 50);
  assert.match(first.page, /\/settings\/members"/u);
  const second = await list(first.next ?? "");
  assert.deepEqual(
    [...first.found, ...second.found].filter((domain) => domain?.startsWith(prefix)),
    mine.map((domain) => `${prefix}.${domain}`),
  );
  assert.equal(second.next, undefined);
  assert.match(second.page, /\/settings\/members"/u);
  assert.deepEqual((await list("?q=K%C3%84THE+100%25")).found, [`${prefix}.many-32.example`]);
  assert.deepEqual((await list("?q=MANY-07")).found, [`${prefix}.many-07.example`]);
  for (const nothing of ["%25_%25", "' or true", other.shopDomain]) {
    const { found, page } = await list(`?q=${encodeURIComponent(nothing)}`);
    assert.deepEqual(found, []);
    assert.match(page, /None of your workspaces has “/u);
  }
  for (const odd of ["?q=%00", "?q[]=a", `?q=${"x".repeat(1000)}`])
    assert.equal((await list(odd)).found.length, 50);
});
