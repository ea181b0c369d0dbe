import assert from "node:assert/strict";
import { test } from "node:test";
import { cookieOf, makeUserLink, openPage, postForm } from "./support/console-person.ts";
import { scene } from "./support/scene.ts";
import { service } from "./support/shared-service.ts";

/** What all forms of a workspace's pages have in common: member, right, refusal, audit, and the message afterwards. */

const tenant = await scene({ store: "small" });
const { userId, cookie, post, follow } = await tenant.member("owner", "Owner");

const WATCHLIST = "/settings/watchlist";
const WATCHED = `/w/${tenant.shopDomain}${WATCHLIST}`;

test("an action redirects to its page, which says once what was done, and is audited", async () => {
  const asked = { type: "sku", key: "SHIRT-M" };
  const sent = await post(WATCHLIST, asked);
  assert.equal(sent.status, 303);
  const { status, text } = await follow(sent);
  assert.equal(status, 200);
  assert.match(text, /role="status"[^>]*>\s*Added .* to the watchlist\./u);
  const { rows } = await service.database.query(
    "select actor, action, detail, before, origin from audit_event where shop_key = $1 and actor like 'user:%'",
    [tenant.shopKey],
  );
  const actor = `user:${userId}`;
  assert.deepEqual(rows, [{ actor, action: "watch.add", detail: asked, before: null, origin: "127.0.0.1" }]);
});

test("a refused form keeps its values, and shows the action's sentence", async () => {
  const { status, text } = await post(WATCHLIST, { type: "sku", key: "<b>none" });
  assert.equal(status, 409);
  assert.match(text, /role="alert"[^>]*>\s*The catalogue of .* has no sku &quot;&lt;b&gt;none&quot;\./u);
  assert.match(text, /value="&lt;b&gt;none"/u);
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
    const text = response.text.replaceAll(/\s+/gu, " ");
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
    assert.match(response.text, new RegExp(`${field} must be text without control characters`, "u"));
  }
});

test("a form of another site is refused", async () => {
  const foreign = { cookie, origin: "https://other.example" };
  assert.equal((await postForm(service, WATCHED, { type: "sku", key: "A" }, foreign)).status, 403);
});

test("a form that was sent after the session ended redirects, after the sign-in, to its page, which says so", async () => {
  const sent = await postForm(service, `${WATCHED}/remove`, { type: "sku", key: "A" });
  const { secret } = await makeUserLink(service, { name: "Owner" });
  const signedIn = await postForm(service, "/enter", { secret }, { cookie: cookieOf(sent) });
  assert.equal(signedIn.headers.get("location"), WATCHED);
  const cookies = signedIn.headers.getSetCookie().map((each) => each.split(";", 1)[0]);
  const page = await openPage(service, WATCHED, cookies.join("; "));
  assert.equal(page.status, 200);
  assert.match(page.text, /role="status"[^>]*>\s*You were signed out when you sent the form/u);
});
