import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { actAs, auditOf } from "./support/scene.ts";
import { cookieOf, openPage, postForm } from "./support/console-person.ts";
import { startServerProcess } from "./support/server-process.ts";
import { service } from "./support/shared-service.ts";
import { createSmallStore } from "./support/small-store.ts";
import { createTenant, createTokenOf } from "./support/tenants.ts";

/** Changes in the console of one server take effect with the next request and page on another. */

const second = await startServerProcess({ after }, service.databaseUrl);

const ALERTS = "/api/v1/alerts";
const TOKEN = /rta_live_[0-9A-Za-z]{65}/gu;

test("revoking a token, and rotating it without overlap", async () => {
  const tenant = await createTenant(service.database);
  const owner = await actAs(service, tenant);
  const [revoked, rotated, kept] = await Promise.all(
    [1, 2, 3].map(() => createTokenOf(service.database, tenant.shopKey)),
  );
  const statusOf = async (token: string | undefined): Promise<number> =>
    (await second.call(ALERTS, { token: token ?? "" })).status;
  const statuses = async (): Promise<number[]> => [
    await statusOf(revoked?.token),
    await statusOf(rotated?.token),
    await statusOf(kept?.token),
  ];
  assert.deepEqual(await statuses(), [200, 200, 200]);
  const ended = await owner.post(`/settings/tokens/${revoked?.tokenId}/revoke`, { name: "reporting" });
  assert.equal(ended.status, 303);
  assert.deepEqual(await statuses(), [401, 200, 200]);
  const rotate = (of: typeof kept, overlap: string) =>
    owner.post(`/settings/tokens/${of?.tokenId}/rotate`, { overlap, request_key: randomUUID() });
  const issued = await rotate(rotated, "0h");
  assert.deepEqual([issued.status, await statuses()], [200, [401, 401, 200]]);
  const [token = ""] = issued.text.match(TOKEN) ?? [];
  assert.equal(await statusOf(token), 200);
  const overlapped = await rotate(kept, "1h");
  assert.deepEqual([overlapped.status, await statuses()], [200, [401, 401, 200]]);
});

test("a form sent to both creates one token", async () => {
  const tenant = await createTenant(service.database);
  const { cookie } = await actAs(service, tenant);
  const fields = { request_key: randomUUID(), name: "only one", scopes: "read:alerts", expires: "90d" };
  const send = ({ address }: { address: string }) =>
    postForm({ address }, `/w/${tenant.shopDomain}/settings/tokens/new`, fields, { cookie });
  const answers = await Promise.all([service, second, service, second].map(send));
  assert.deepEqual(
    answers.map(({ status }) => status).toSorted((one, other) => one - other),
    [200, 303, 303, 303],
  );
  const texts = answers.map(({ text }) => text).join("");
  assert.equal(new Set(texts.match(TOKEN)).size, 1);
  const { rows } = await service.database.query(
    "select from api_token where shop_key = $1 and name = 'only one'",
    [tenant.shopKey],
  );
  assert.equal(rows.length, 1);
  const again = await send(second);
  const next = again.headers.get("location") ?? "";
  const { text: page } = await openPage(service, next, `${cookie}; ${cookieOf(again)}`);
  assert.match(
    page,
    /role="status"[^>]*>\s*This form has already created this token; no second one was created/u,
  );
  assert.match(page, /<h1>only one<\/h1>/u);
  assert.equal(page.match(TOKEN), null);
});

test("saving a return window", async () => {
  const tenant = await createSmallStore(service.database);
  const owner = await actAs(service, tenant);
  const path = "/settings/windows";
  const figures = async ({ call }: Pick<typeof service, "call">) => {
    const params = { period: "year" };
    const { data, meta } = (
      await call("/api/v1/leaderboards/return-rate", { token: tenant.token, params })
    ).json();
    return { data, complete: meta["complete_through"] };
  };
  const earlier = await figures(second);
  assert.match((await owner.get(path, second.address)).text, />30 days</u);
  const { done } = await owner.post(path, { primary_window_days: "90", min_sold_units: "1" });
  assert.match(done ?? "", /^Saved\. The return window is now 90 days, and a SKU needs at least 1 /u);
  const since = await figures(second);
  assert.notDeepEqual(since, earlier);
  assert.deepEqual(since, await figures(service));
  assert.match((await owner.get(path, second.address)).text, />90 days</u);
  assert.deepEqual(await auditOf(service, tenant), [
    {
      action: "windows.set",
      detail: { primary_window_days: "90", min_sold_units: "1" },
      before: { primary_window_days: 30, min_sold_units: 20 },
    },
  ]);
});
