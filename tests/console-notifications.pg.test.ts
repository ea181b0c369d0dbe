import assert from "node:assert/strict";
import { test } from "node:test";
import { wordsOf } from "./support/page-figures.ts";
import { actAs, auditOf } from "./support/scene.ts";
import { createClock, deliverAll, deliveryEnvironment, writeAlerts } from "./support/push.ts";
import { startReceiver } from "./support/receiver.ts";
import { startTestService } from "./support/service.ts";
import { createTenant } from "./support/tenants.ts";
import { use } from "./support/use.ts";

/** Notifications, managed on the page. */

const service = use(() => startTestService({ PUSH_NETWORKS: "127.0.0.0/8" }));
const receiver = use(startReceiver);

const PATH = "/settings/notifications";
const idsOf = (page: string): string[] => [
  ...new Set([...page.matchAll(/name="endpoint"\s+value="([^"]+)"/gu)].map(([, id]) => id ?? "")),
];
const keyOf = (page: string): string => /name="request_key"\s+value="([^"]+)"/u.exec(page)?.[1] ?? "";

test("an owner adds a webhook, sees its secret once, tests, rotates, pauses, resumes and removes it", async () => {
  const tenant = await createTenant(service.database);
  const owner = await actAs(service, tenant);
  assert.match((await owner.get("/settings")).text, /No alert endpoints yet/u);
  const { text: empty } = await owner.get(PATH);
  assert.doesNotMatch(empty, /value="email"/u);
  const fields = {
    name: "ticket system",
    kind: "webhook",
    address: `${receiver.url}?key=secret`,
    severities: "critical",
    categories: "return_rate_watchlist",
    digest_hour: "",
    request_key: keyOf(empty),
  };
  const added = await owner.post(PATH, fields);
  assert.match(added.text, /whsec_[A-Za-z0-9+/]{43}=/u);
  assert.match((await owner.post(PATH, fields)).text, /already added this endpoint/u);

  const { text: page } = await owner.get(PATH);
  const words = wordsOf(page);
  assert.match(
    words,
    /ticket system Signed webhook http:\/\/127\.0\.0\.1:\d+ Receives critical: early warnings/u,
  );
  assert.match(words, /When at once State Waiting for the next alert Last delivery none yet/u);
  assert.match(words, /Remove ticket system Alerts are no longer sent to ticket system\. Remove it\?/u);
  assert.doesNotMatch(page, /whsec_|key=secret/u);
  const [id = ""] = idsOf(page);

  assert.match(
    (await owner.post(`${PATH}/test`, { endpoint: id })).done ?? "",
    /was delivered\. The receiver answered 204/u,
  );
  assert.equal(receiver.received.at(-1)?.path, "/hook?key=secret");
  const rotated = await owner.post(`${PATH}/rotate`, { endpoint: id, overlap: "24h" });
  assert.match(rotated.text, /whsec_/u);
  assert.match(wordsOf((await owner.get(PATH)).text), /Also signed with the old secret until/u);
  assert.match((await owner.post(`${PATH}/pause`, { endpoint: id })).done ?? "", /is paused/u);
  assert.match(wordsOf((await owner.get(PATH)).text), /State Paused by a member, since/u);
  assert.match((await owner.get("/settings")).text, /sent to 1 endpoint, 1 of them paused/u);
  assert.match((await owner.post(`${PATH}/resume`, { endpoint: id })).done ?? "", /is resumed/u);

  receiver.answer(500);
  await writeAlerts(service, tenant, [{ category: "return_rate_watchlist", severity: "critical" }]);
  await deliverAll(deliveryEnvironment(service, createClock().now));
  assert.match(
    wordsOf((await owner.get(PATH)).text),
    /1 attempt failed; next attempt: .* Last problem The receiver answered 500\./u,
  );
  receiver.answer(204);
  assert.match((await owner.post(`${PATH}/remove`, { endpoint: id })).done ?? "", /is removed/u);
  const { text: removed } = await owner.get(PATH);
  assert.match(removed, /No alert endpoints yet/u);
  assert.match(
    wordsOf(removed),
    /ticket system was removed on .* For 24 hours this can be undone\. Undo removal of ticket system/u,
  );
  await deliverAll(deliveryEnvironment(service, createClock().now));
  const before = receiver.received.length;
  await writeAlerts(service, tenant, [{ category: "return_rate_watchlist", severity: "critical" }]);
  await deliverAll(deliveryEnvironment(service, createClock().now));
  assert.equal(receiver.received.length, before, "nothing is sent to it");
  const foreign = await actAs(service, await createTenant(service.database));
  assert.equal((await foreign.post(`${PATH}/restore`, { endpoint: id })).status, 409);
  const hour = createClock();
  hour.forward(60);
  assert.match((await owner.post(`${PATH}/restore`, { endpoint: id })).done ?? "", /is restored/u);
  assert.equal((await owner.post(`${PATH}/restore`, { endpoint: id })).status, 409);
  await deliverAll(deliveryEnvironment(service, hour.now));
  assert.ok(receiver.received.length > before, "what it missed");
  assert.match((await owner.post(`${PATH}/remove`, { endpoint: id })).done ?? "", /is removed/u);
  assert.equal((await owner.post(`${PATH}/test`, { endpoint: id })).status, 409);
  const actions = (await auditOf(service, tenant)).map(({ action }) => action);
  const done = ["add", "test", "rotate", "pause", "resume", "remove", "restore", "remove"].map(
    (word) => `notify.${word}`,
  );
  assert.deepEqual(
    actions.filter((action) => action.startsWith("notify.")),
    done,
  );
  assert.doesNotMatch(JSON.stringify(await auditOf(service, tenant)), /whsec_|key=secret/u);
});

test("a workspace has ten endpoints at most, also after the undo of a removal", async () => {
  const owner = await actAs(service, await createTenant(service.database));
  const newKey = async () => keyOf((await owner.get(PATH)).text);
  const add = async (name: string, request_key = newKey()) => {
    const fields = { name, kind: "webhook", address: receiver.url, severities: "critical", digest_hour: "" };
    return owner.post(PATH, { ...fields, request_key: await request_key });
  };
  for (let count = 1; count <= 8; count += 1) assert.match((await add(`number ${count}`)).text, /whsec_/u);
  const keys = await Promise.all([newKey(), newKey(), newKey(), newKey()]);
  const atOnce = await Promise.all(keys.map((key) => add("at once", Promise.resolve(key))));
  assert.equal(atOnce.filter(({ text }) => /whsec_/u.test(text)).length, 2);
  assert.match((await add("number 11")).text, /has 10 endpoints at most/u);
  const [id = ""] = idsOf((await owner.get(PATH)).text);
  await owner.post(`${PATH}/remove`, { endpoint: id });
  assert.match((await add("number 11")).text, /whsec_/u);
  const { status, text } = await owner.post(`${PATH}/restore`, { endpoint: id });
  assert.equal(status, 409);
  assert.match(text, /has 10 endpoints at most/u);
});

test("a refused form is shown again with what was filled in, and another workspace's endpoint is not there", async () => {
  const [tenant, other] = [await createTenant(service.database), await createTenant(service.database)];
  const owner = await actAs(service, tenant);
  const stranger = await actAs(service, other);
  const request = { name: "tickets", kind: "webhook", address: "https://10.0.0.1/x", digest_hour: "7" };
  const key = keyOf((await owner.get(PATH)).text);
  const refused = await owner.post(PATH, { ...request, request_key: key });
  assert.match(refused.text, /The address must be public/u);
  assert.match(refused.text, /value="https:\/\/10\.0\.0\.1\/x"/u);
  const late = await owner.post(PATH, {
    ...request,
    address: receiver.url,
    digest_hour: "30",
    request_key: key,
  });
  assert.match(late.text, /Digest hour must be a whole number from 0 to 23\./u);
  await owner.post(PATH, { ...request, address: receiver.url, request_key: key });
  const [id = ""] = idsOf((await owner.get(PATH)).text);
  for (const action of ["test", "rotate", "pause", "resume", "remove"]) {
    const answer = await stranger.post(`${PATH}/${action}`, { endpoint: id, overlap: "1h" });
    assert.match(answer.text, /has no endpoint with the id/u, action);
  }
  assert.equal(idsOf((await owner.get(PATH)).text).length, 1);
  assert.match(wordsOf((await owner.get(PATH)).text), /When daily at 07:00 UTC/u);
});
