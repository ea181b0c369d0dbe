import assert from "node:assert/strict";
import { test } from "node:test";
import { ALL_PATHS, ALL_VIEWS } from "./support/console-pages.ts";
import { CANARY, copyAsForeign } from "./support/foreign-tenant.ts";
import { scene, visitorOf } from "./support/scene.ts";
import { service } from "./support/shared-service.ts";

/** Pages show the workspace of their address alone, and only to its members. */

const tenant = await scene({ store: "small" });
const model = await scene({ store: "small" });
const foreign = await scene();
await copyAsForeign(service.database, model.shopKey, foreign.shopKey);
const ofTenant = await tenant.member("owner", "Member");
const ofForeign = await foreign.member("owner", "Stranger");

test("a foreign workspace and a missing one give the same bytes and headers, whatever the page", async () => {
  for (const path of [...ALL_PATHS, "/nothing"]) {
    const theirs = await visitorOf(service, foreign.shopDomain, ofTenant.cookie).get(path);
    const missing = await visitorOf(service, "missing.example", ofTenant.cookie).get(path);
    assert.deepEqual([theirs.status, missing.status], [404, 404], path);
    assert.equal(theirs.text, missing.text);
    assert.deepEqual(comparable(theirs.headers), comparable(missing.headers));
  }
});

test("no page, header, log or file contains data of another workspace", async () => {
  const logged = service.logs.length;
  for (const path of ALL_VIEWS) {
    const { status, headers, text } = await ofTenant.get(path);
    assert.equal(status, 200, path);
    assert.ok(![...headers].flat().join("\n").includes(CANARY), path);
    assert.ok(!text.includes(CANARY), path);
  }
  assert.ok(!service.logs.slice(logged).some((line) => line.includes(CANARY)));
});

test("the workspace's own member does see it there", async () => {
  for (const path of ALL_PATHS) {
    const { status, text } = await ofForeign.get(path);
    assert.equal(status, 200, path);
    assert.ok(text.includes(CANARY), path);
  }
});

test("the log names a page by the registry and the person by an id, not the address that was asked for", async () => {
  const logged = service.logs.length;
  assert.equal((await ofTenant.get("/report?sku=JACKET-M")).status, 200);
  const lines = service.logs.slice(logged).join("");
  assert.match(lines, /"page":"report"/u);
  assert.match(lines, /"user_id":"[0-9a-f-]{36}"/u);
  assert.ok(!lines.includes("JACKET-M"));
  assert.ok(!lines.includes(tenant.shopDomain));
});

/** All but what differs between any two answers. */
function comparable(headers: Headers): [string, string][] {
  return [...headers].filter(([name]) => name !== "date" && name !== "x-request-id");
}
