import assert from "node:assert/strict";
import { test } from "node:test";
import { postForm, signInAs } from "./support/console-person.ts";
import { startServerProcess } from "./support/server-process.ts";
import { startTestService } from "./support/service.ts";
import { OPERATOR } from "../src/actions/actor.ts";
import { runAction } from "../src/actions/action.ts";
import { textInput } from "../src/actions/field.ts";
import { setWorkspace } from "../src/actions/workspace/settings.ts";
import { requireWorkspace } from "../src/actions/workspace/workspace.ts";
import { createTenant, createTokenOf } from "./support/tenants.ts";
import type { Tenant } from "./support/tenants.ts";
import { before, use } from "./support/use.ts";

/** What is changed in the console of one server counts for the next request at another one. */

const service = use(startTestService);
let tenant: Tenant;
let cookie: string;

before(async () => {
  tenant = await createTenant(service.database);
  cookie = await signInAs(service, { name: "Owner", shopDomain: tenant.shopDomain });
});

const ALERTS = "/api/v1/alerts";

const post = (path: string, fields: Record<string, string>): Promise<Response> =>
  postForm(service, `/w/${tenant.shopDomain}${path}`, fields, { cookie });

test("a token that is revoked, or rotated without overlap, fails the next request on a second server", async (context) => {
  const second = await startServerProcess(context, service.databaseUrl);
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
  const ended = await post(`/settings/tokens/${revoked?.tokenId}/revoke`, { name: "reporting" });
  assert.equal(ended.status, 303);
  assert.deepEqual(await statuses(), [401, 200, 200]);
  const request_key = "00000000-0000-4000-8000-000000000001";
  const issued = await post(`/settings/tokens/${rotated?.tokenId}/rotate`, { overlap: "0h", request_key });
  assert.deepEqual([issued.status, await statuses()], [200, [401, 401, 200]]);
  const [token = ""] = /rta_live_[0-9A-Za-z]{65}/u.exec(await issued.text()) ?? [];
  assert.equal(await statusOf(token), 200);
  const overlapped = await post(`/settings/tokens/${kept?.tokenId}/rotate`, {
    overlap: "1h",
    request_key: request_key.replace("1", "2"),
  });
  assert.deepEqual([overlapped.status, await statuses()], [200, [401, 401, 200]]);
});

test("a plan that is set takes effect with the next request on a second server", async (context) => {
  const second = await startServerProcess(context, service.databaseUrl);
  const ask = () => second.call(ALERTS, { token: tenant.token });
  assert.equal((await ask()).status, 200);
  const workspace = await requireWorkspace(service.installation.database, tenant.shopDomain);
  const { database } = service.installation;
  const caller = { database, keys: service.keys, workspace, actor: OPERATOR, now: new Date() };
  const setPlan = (plan: string) => runAction(setWorkspace, caller, textInput({ plan }));
  await setPlan("starter");
  const refused = await ask();
  assert.deepEqual(
    [refused.status, refused.message()],
    [403, "The workspace's plan does not include api_access."],
  );
  await setPlan("growth");
  const again = await ask();
  assert.deepEqual([again.status, again.headers.get("x-ratelimit-limit")], [200, "1000"]);
});
