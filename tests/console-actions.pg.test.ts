import assert from "node:assert/strict";
import { test } from "node:test";
import { makeUserLink, postForm, signInAs } from "./support/console-person.ts";
import { service } from "./support/shared-service.ts";
import { createSmallStore } from "./support/small-store.ts";

/** What every form of a workspace's pages has in common: member, right, refusal, audit, the sentence afterwards. */

const tenant = await createSmallStore(service.database);
const cookie = await signInAs(service, { name: "Owner", shopDomain: tenant.shopDomain });

const WATCHLIST = "/settings/watchlist";

function post(path: string, fields: Record<string, string>, headers: Record<string, string> = {}) {
  return postForm(service, `/w/${tenant.shopDomain}${path}`, fields, { cookie, ...headers });
}

async function pageAfter(response: Response): Promise<string> {
  const [pair = ""] = (response.headers.get("set-cookie") ?? "").split(";");
  const next = await fetch(new URL(response.headers.get("location") ?? "", service.address), {
    headers: { cookie: `${cookie}; ${pair}` },
  });
  assert.equal(next.status, 200);
  return next.text();
}

async function audited(): Promise<unknown[]> {
  const { rows } = await service.database.query(
    `select a.action, a.detail, a.before, a.origin, u.name from audit_event a
       join console_user u on a.actor = 'user:' || u.user_id
      where a.shop_key = $1 order by a.happened_at`,
    [tenant.shopKey],
  );
  return rows;
}

test("an action leads back to its page, which says once what was done, and is audited", async () => {
  const { rows } = await service.database.query<{ sku: string }>(
    "select sku from sku where shop_key = $1 order by sku limit 1",
    [tenant.shopKey],
  );
  const sku = rows[0]?.sku ?? "";
  const response = await post(WATCHLIST, { type: "sku", key: sku });
  assert.equal(response.status, 303);
  const page = await pageAfter(response);
  assert.match(page, /role="status"[^>]*>\s*Added .* to the watchlist\./u);
  assert.deepEqual(await audited(), [
    {
      action: "watch.add",
      detail: { type: "sku", key: sku },
      before: null,
      origin: "127.0.0.1",
      name: "Owner",
    },
  ]);
});

test("a refused form keeps its values, and shows the action's sentence", async () => {
  const response = await post(WATCHLIST, { type: "sku", key: "<b>none" });
  assert.equal(response.status, 409);
  const page = await response.text();
  assert.match(page, /role="alert"[^>]*>\s*The catalogue of .* has no sku &quot;&lt;b&gt;none&quot;\./u);
  assert.match(page, /value="&lt;b&gt;none"/u);
});

test("a refused field shows its error next to it, whatever its kind", async () => {
  const event = { label: "Spring", starts_on: "2026-04-01", ends_on: "2026-03-01", expects: "new" };
  const refused = [
    ["/settings/tokens/new", { name: "x", expires: "90d" }, "token-create-scopes"],
    ["/settings/tokens/new", { name: "x", scopes: "read:reports" }, "token-create-expires"],
    ["/settings/members", { name: "Ann", role: "king" }, "member-invite-role"],
    ["/settings/sale-events", event, "sale-event-add-ends-on"],
    ["/settings/sale-events", { ...event, ends_on: "2026-04-02", skus: "NONE" }, "sale-event-add-skus"],
  ] as const;
  for (const [path, fields, id] of refused) {
    const response = await post(path, fields);
    assert.ok([400, 409].includes(response.status), id);
    const text = (await response.text()).replaceAll(/\s+/gu, " ");
    const [, banner = ""] = /class="banner refused"[^>]*> ([^<]+)</u.exec(text) ?? [];
    const [, beside] = new RegExp(`id="${id}-hint" class="wrong"\\s?>([^<]+)<`, "u").exec(text) ?? [];
    assert.equal(beside?.trim(), banner.trim(), id);
    assert.match(text, new RegExp(`aria-describedby="${id}-hint"`, "u"));
    assert.match(text, /aria-invalid="true"/u);
  }
});

test("a NUL, which no database stores, is refused at its field", async () => {
  const days = { label: "Sale", starts_on: "2026-01-01", ends_on: "2026-01-02" };
  for (const [path, fields, field] of [
    [WATCHLIST, { type: "sku", key: "a\0" }, "Key"],
    [`${WATCHLIST}/remove`, { type: "sku", key: "a\0" }, "Key"],
    ["/settings/sale-events", { ...days, skus: "a\nb\0" }, "SKUs in the sale, one per line"],
  ] as const) {
    const response = await post(path, fields);
    assert.equal(response.status, 400, path);
    assert.match(await response.text(), new RegExp(`${field} must be text without control characters`, "u"));
  }
});

test("a form of another site is refused unread, and a stranger's leads to the sign-in", async () => {
  const foreign = await post(WATCHLIST, { type: "sku", key: "A" }, { origin: "https://other.example" });
  assert.equal(foreign.status, 403);
  const stranger = await post(WATCHLIST, { type: "sku", key: "A" }, { cookie: "" });
  assert.deepEqual([stranger.status, stranger.headers.get("location")], [303, "/sign-in"]);
});

test("a form that was sent after the session ended leads to its page after the sign-in, which says so", async () => {
  const sent = await post(`${WATCHLIST}/remove`, { type: "sku", key: "A" }, { cookie: "" });
  const [target = ""] = (sent.headers.get("set-cookie") ?? "").split(";");
  const { secret } = await makeUserLink(service, { name: "Owner" });
  const signedIn = await postForm(service, "/enter", { secret }, { cookie: target });
  assert.equal(signedIn.headers.get("location"), `/w/${tenant.shopDomain}${WATCHLIST}`);
  const cookies = signedIn.headers.getSetCookie().map((each) => each.split(";", 1)[0]);
  const page = await fetch(new URL(signedIn.headers.get("location") ?? "", service.address), {
    headers: { cookie: cookies.join("; ") },
  });
  assert.equal(page.status, 200);
  assert.match(await page.text(), /role="status"[^>]*>\s*You were signed out when you sent the form/u);
});

test("an action is no page and a page no action", async () => {
  const action = await fetch(`${service.address}/w/${tenant.shopDomain}${WATCHLIST}/remove`, {
    headers: { cookie },
  });
  assert.deepEqual([action.status, action.headers.get("allow")], [405, "POST"]);
  const page = await post("/report", {});
  assert.deepEqual([page.status, page.headers.get("allow")], [405, "GET, HEAD"]);
  assert.equal((await post("/none", {})).status, 404);
});
