import assert from "node:assert/strict";
import { test } from "node:test";
import type { Actor } from "../src/actions/actor.ts";
import { createPerson, removeMember, setRole } from "./support/people.ts";
import { sentenceOf, startOAuthService } from "./support/oauth.ts";
import { use } from "./support/use.ts";

const oauth = use(startOAuthService);

test("a link connects once: it begins nothing more, and neither does an approval that it has begun", async () => {
  const { simulator, domain, tenant } = await oauth.newShop();
  const link = await oauth.linkFor(tenant, domain, simulator.url);
  const [first, second] = [await oauth.next(link), await oauth.next(link)];
  assert.equal((await oauth.open(await oauth.next(first))).status, 200);
  for (const late of [link, await oauth.next(second)]) {
    const response = await oauth.open(late);
    assert.equal(response.status, 400);
    assert.match(await sentenceOf(response), /^This link has already been used/u);
  }
});

test("a member's link and the approvals that it has begun end with their right to make one", async () => {
  const { simulator, domain, tenant } = await oauth.newShop();
  const { database } = oauth.service;
  const { userId } = await createPerson(database);
  await setRole(database, tenant, { userId }, "admin");
  const actor: Actor = {
    name: `user:${userId}`,
    origin: null,
    standing: "admin",
    isFresh: true,
    session: null,
  };
  const link = await oauth.linkFor(tenant, domain, simulator.url, { actor });
  const callback = await oauth.next(await oauth.next(link));
  const ended = async (): Promise<void> => {
    for (const late of [link, callback]) {
      const response = await oauth.open(late);
      assert.equal(response.status, 400);
      assert.match(await sentenceOf(response), /^This link is no longer valid/u);
    }
  };
  await setRole(database, tenant, { userId }, "viewer");
  await ended();
  await setRole(database, tenant, { userId }, "admin");
  await database.query("update console_user set disabled_at = now() where user_id = $1", [userId]);
  await ended();
  await database.query("update console_user set disabled_at = null where user_id = $1", [userId]);
  await removeMember(database, tenant, { userId });
  await ended();
  assert.equal(await oauth.connectionOf(tenant), null);
  await setRole(database, tenant, { userId }, "admin");
  assert.equal((await oauth.open(callback)).status, 200);
});

test("an approval counts in the browser alone that has begun it", async () => {
  const { simulator, domain, tenant } = await oauth.newShop();
  const begun = await oauth.open(await oauth.linkFor(tenant, domain, simulator.url), "");
  assert.match(
    begun.headers.get("set-cookie") ?? "",
    /^__Host-returns-approval=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/u,
  );
  const callback = await oauth.next(oauth.here(begun.headers.get("location") ?? ""));
  for (const other of ["", `__Host-returns-approval=${"A".repeat(43)}`, "__Host-returns-approval=x"]) {
    const response = await oauth.open(callback, other);
    assert.equal(response.status, 400);
    assert.match(await sentenceOf(response), /^The approval was started in another browser/u);
  }
  assert.equal(await oauth.connectionOf(tenant), null);
  assert.equal((await oauth.open(callback)).status, 200);
});

test("an address that the platform has signed ends after ten minutes", async () => {
  const shop = "some.myshopify.com";
  const now = Math.floor(Date.now() / 1000);
  for (const path of ["/connect/shopify", "/connect/shopify/callback"]) {
    for (const moment of [String(now - 660), String(now + 660), "soon", ""]) {
      const response = await oauth.open(oauth.signed(path, { shop, timestamp: moment }));
      assert.equal(response.status, 401);
      assert.match(await sentenceOf(response), /^This address is too old/u);
    }
  }
});
