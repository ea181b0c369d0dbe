import assert from "node:assert/strict";
import { test } from "node:test";
import { PAGES, SETTINGS } from "../src/console/registry.ts";
import { cookieOf, openPage, postForm } from "./support/console-person.ts";
import { actAs } from "./support/scene.ts";
import { createPageStates } from "./support/console-states.ts";
import { matchSnapshot, pageLines, readLines, snapshotsIn, withoutVarying } from "./support/net.ts";
import { startTestService, type WireAnswer } from "./support/service.ts";
import { createSmallStore } from "./support/small-store.ts";
import { createTenant } from "./support/tenants.ts";
import type { Tenant, TenantOptions } from "./support/tenants.ts";
import { connectShop } from "./support/webhooks.ts";
import { before, use } from "./support/use.ts";

/** What each page of the console shows: in every state, by right, and after each of its forms. The snapshots are in tests/net/pages/. */

const SMALL_STORE_VIEWS = [
  "/settings/windows?primary_window_days=60&min_sold_units=5",
  "/settings/windows?primary_window_days=500&min_sold_units=x",
  "/settings/orders?free_drafts=leave_out",
  "/settings/watchlist?q=jacket",
  "/settings/watchlist?type=sku&key=SHIRT-M",
  "/settings/sale-events?slug=summer",
  "/settings/sale-events?product_gid=gid%3A%2F%2Fshopify%2FProduct%2F2",
  "/settings/audit?from=2026-02-30",
  "/settings/tokens/:token",
  "/settings/members/:member",
  "/settings/sources/csv",
  "/settings/sources/shopify",
  "/settings/sources/shopify/connect",
  "/settings/sources/shopify/progress",
  "/settings/sources/shipstation/connect",
  "/settings/sources/loop/connect",
  "/settings/imports/:upload",
];
const STATE_VIEWS = [
  "",
  "/settings",
  "/settings/windows",
  "/settings/plan",
  "/settings/sources",
  "/settings/watchlist",
];
const STATES: readonly TenantOptions[] = [
  { readiness: "installing" },
  { billingStatus: "inactive" },
  { dataAsOf: null },
];
const ENTRANCE = [
  "/",
  "/sign-in",
  "/enter",
  "/w",
  "/me",
  "/confirm?next=%2Fw",
  "/operator",
  "/operator/workspace",
  "/operator/people",
];

/** Forms in this order: one with invalid input for each, then valid ones; `:names` stand for ids of the store. */
const FORMS = readLines("forms.txt").map((line) => line.split(" "));

/** Pages that show the result. */
const AFTERWARDS = ["tokens", "members", "sources", "notifications", "imports", "audit", "plan"];

/** Statements that find what `:names` stand for. */
const IDS: Readonly<Record<string, string>> = {
  token: "select token_id from api_token where shop_key = $1 and name = 'reporting'",
  endpoint: "select endpoint_id from alert_endpoint where shop_key = $1 and name = 'an endpoint'",
  tickets: "select endpoint_id from alert_endpoint where shop_key = $1 and name = 'tickets'",
  upload: "select upload_id from import_upload where shop_key = $1",
  domain: "select shop_domain from workspace where shop_key = $1",
  member:
    "select user_id from workspace_member join console_user using (user_id) where shop_key = $1 and name = 'owner of ' || $1",
  guest:
    "select user_id from workspace_member join console_user using (user_id) where shop_key = $1 and name = 'Guest'",
  key: "select gen_random_uuid() where $1::bigint > 0",
};

const service = use(startTestService);
let store: Tenant;
/** What the pages of each file show. */
const sections = new Map<string, string[]>();

before(async () => {
  store = await createSmallStore(service.database);
  // Documents that an export can read.
  await service.database.query("update order_document set document = '{\"lines\": []}' where shop_key = $1", [
    store.shopKey,
  ]);
  await connectShop(service, store.shopKey, "shop-of-forms.myshopify.com");
});

test("pages of figures, in every state", async () => {
  const { states, cookie, emptyCookie, smallStore } = await createPageStates(service, store);
  for (const { path } of PAGES) {
    await see({ title: path || "overview", path: smallStore + path, cookie, hasFrame: true });
  }
  for (const { name, path } of states) await see({ title: name, path, cookie });
  for (const path of ENTRANCE) {
    await see({ title: `signed out ${path}`, file: "entrance", path, cookie: "" });
    await see({ title: `without a workspace ${path}`, file: "entrance", path, cookie: emptyCookie });
    await see({ title: `a member ${path}`, file: "entrance", path, cookie });
  }
});

test("pages of settings, by role and state", async () => {
  const plain = SETTINGS.map(({ path }) => path).filter((path) => !path.includes(":"));
  for (const role of ["owner", "admin", "viewer"] as const) {
    const { cookie } = await actAs(service, store, role);
    for (const path of [...plain, ...SMALL_STORE_VIEWS]) {
      await see({ title: `${role} ${path}`, path: await filled(path), cookie, hasFrame: role === "owner" });
    }
  }
  for (const options of STATES) {
    const tenant = await createTenant(service.database, options);
    const { cookie } = await actAs(service, tenant);
    for (const path of STATE_VIEWS) {
      await see({
        title: `${JSON.stringify(options)} ${path}`,
        path: `/w/${tenant.shopDomain}${path}`,
        cookie,
      });
    }
  }
});

test("the page after every form", async () => {
  const { cookie } = await actAs(service, store, "owner", "Refused");
  const doer = await actAs(service, store, "owner", "Doer");
  for (const [kind = "", path = "", body = ""] of FORMS) {
    await send(kind, kind === "refused" ? cookie : doer.cookie, path, body);
  }
  for (const path of AFTERWARDS) {
    await see({ title: `afterwards ${path}`, path: await filled(`/settings/${path}`), cookie });
  }
});

test("a form that needs a recent confirmation, after ten minutes", async () => {
  const { cookie } = await actAs(service, store, "owner", "Stale");
  await service.database.query(
    "update console_session set proved_at = now() - interval '11 min' where user_id = (select user_id from console_user where name = 'Stale')",
  );
  for (const path of ["/settings/tokens/new", "/settings/members"])
    await send("unconfirmed", cookie, path, "name=Late");
});

test("pages of operators", async () => {
  const { cookie } = await actAs(service, store, "viewer", "An operator");
  await service.database.query("update console_user set is_operator = true where name = 'An operator'");
  const domain = store.shopDomain;
  for (const path of [
    `/operator?q=${domain}`,
    `/operator/workspace?domain=${domain}`,
    "/operator/workspace?domain=none.example",
    "/operator/people?q=an+operator",
  ]) {
    await see({ title: path, file: "operator", path, cookie, hasFrame: true });
  }
});

test("all snapshots are unchanged", async (context) => {
  for (const [file, shown] of sections) {
    await context.test(file, () => matchSnapshot(`pages/${file}.txt`, withoutVarying(shown.join("\n"))));
  }
  assert.deepEqual(snapshotsIn("pages"), [...sections.keys()].map((file) => `${file}.txt`).toSorted());
});

test("the audit's text for every event", async () => {
  const { text } = await (await actAs(service, store)).get("/settings/audit");
  const options = /<select[^>]*name="action"[^>]*>(.*?)<\/select>/su.exec(text)?.[1] ?? "";
  const words = [...options.matchAll(/<option\s+value="([^"]+)"[^>]*>([^<]*)</gu)].map(([, name, said]) => [
    name,
    said,
  ]);
  matchSnapshot("audit-words.json", `${JSON.stringify(Object.fromEntries(words), null, 2)}\n`);
});

/** The address of a path of the small store. */
async function filled(path: string): Promise<string> {
  return `/w/${store.shopDomain}${await withIds(path)}`;
}

async function withIds(text: string): Promise<string> {
  let result = text;
  for (const [whole, name = ""] of text.matchAll(/:([a-z]+)/gu)) {
    const statement = IDS[name];
    if (statement === undefined) continue;
    const { rows } = await service.database.query<Record<string, string>>(statement, [store.shopKey]);
    result = result.replace(whole, Object.values(rows[0] ?? {})[0] ?? "none");
  }
  return result;
}

type Seen = { title: string; path: string; cookie: string; file?: string; hasFrame?: boolean };

async function see({ title, path, cookie, file = fileOf(path), hasFrame = false }: Seen): Promise<void> {
  show(title, file, await openPage(service, path, cookie), hasFrame);
}

/** Shows the page that a form leads to; its address is named as it is in the list. */
async function send(kind: string, cookie: string, path: string, body: string): Promise<void> {
  const target = await filled(path);
  const sent = await postForm(service, target, [...new URLSearchParams(await withIds(body))], { cookie });
  const title = `${kind} ${path} ${body}`;
  const file = fileOf(target);
  show(title, file, sent, false);
  const next = sent.headers.get("location");
  if (next === null) return;
  await see({ title: `${title}, followed`, file, path: next, cookie: `${cookie}; ${cookieOf(sent)}` });
}

/** Pages whose addresses begin alike share a file. */
function fileOf(path: string): string {
  const [, , , ...rest] = (path.split("?")[0] ?? "").split("/");
  return rest.slice(0, 2).join("-") || "overview";
}

function show(title: string, file: string, { status, headers, text }: WireAnswer, hasFrame: boolean): void {
  const type = headers.get("content-type") ?? "";
  const location = headers.get("location") ?? "";
  const shown = type.startsWith("application/zip") ? "" : text;
  const lines = type.startsWith("text/html") ? pageLines(text, hasFrame) : [`${type} ${shown}`.trim()];
  const section = [`## ${title}`, `${status} ${location}`.trim(), ...lines, ""];
  sections.set(file, [...(sections.get(file) ?? []), section.join("\n")]);
}
