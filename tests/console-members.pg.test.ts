import assert from "node:assert/strict";
import { test } from "node:test";
import { actAs, auditOf } from "./support/acting-member.ts";
import type { ActingMember } from "./support/acting-member.ts";
import { postForm } from "./support/console-person.ts";
import { createPerson, setRole } from "./support/people.ts";
import { startTestService } from "./support/service.ts";
import { createTenant } from "./support/tenants.ts";
import type { Tenant } from "./support/tenants.ts";
import { before, use } from "./support/use.ts";

/** The pages of people: members, one member, one's own notices. */

const MEMBERS = "/settings/members";
const NOTICES = "/settings/notices";

const service = use(startTestService);
let tenant: Tenant;
let owner: ActingMember;

before(async () => {
  tenant = await createTenant(service.database);
  owner = await actAs(service, tenant, "owner", "Olga");
});

const linkIn = (text: string): string => /http:\/\/[^/\s]+\/enter#[A-Za-z0-9_-]{43}/u.exec(text)?.[0] ?? "";

async function idOf(name: string): Promise<string> {
  const { rows } = await service.database.query<{ user_id: string }>(
    "select user_id from console_user where name = $1",
    [name],
  );
  return rows[0]?.user_id ?? "";
}

const statusOf = async (member: ActingMember, path: string): Promise<number> =>
  (await member.get(path)).status;

test("an owner invites somebody, who signs in by the link, sees the pages and is listed", async () => {
  const sent = await owner.post(MEMBERS, { name: "Ada <b>", role: "viewer" });
  assert.equal(sent.status, 200);
  const link = linkIn(sent.text);
  assert.match(link, new RegExp(`^${service.address.replace("127.0.0.1", "[^/]+")}/enter#`, "u"));
  assert.match(sent.text, /href="mailto:\?subject=[^"]+%20invites%20you%20to[^"]+%2Fenter%23/u);
  assert.match((await owner.get(MEMBERS)).text, /Ada &lt;b&gt;[\s\S]*invited; the link works until/u);
  const secret = link.slice(link.indexOf("#") + 1);
  const entered = await postForm(service, "/enter", { secret });
  const cookie = (entered.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  const own = await fetch(`${service.address}/w/${tenant.shopDomain}${NOTICES}`, { headers: { cookie } });
  assert.equal(own.status, 200);
  assert.match((await owner.get(MEMBERS)).text, /Ada &lt;b&gt;[\s\S]*UTC[\s\S]*active/u);
  const page = `${MEMBERS}/${await idOf("Ada <b>")}`;
  assert.match((await owner.get(page)).text, /Recover access/u);
});

test("an answer that shows a link is not compressed", async () => {
  const response = await postForm(
    service,
    `/w/${tenant.shopDomain}${MEMBERS}`,
    { name: "Plain", role: "viewer" },
    { cookie: owner.cookie, "accept-encoding": "gzip" },
  );
  assert.equal(response.headers.get("content-encoding"), null);
  assert.match(response.headers.get("cache-control") ?? "", /\bno-store\b/u);
  await owner.post(`${MEMBERS}/${await idOf("Plain")}/remove`, {});
});

test("a refused invitation keeps what was filled in", async () => {
  const taken = await owner.post(MEMBERS, { name: "Olga", role: "admin" });
  assert.equal(taken.status, 409);
  assert.match(
    taken.text,
    /role="alert"[^>]*>\s*Somebody in shop-\d+\.example is called &quot;Olga&quot; already/u,
  );
  assert.match(taken.text, /value="Olga"/u);
  assert.match(taken.text, /value="admin"\s+selected/u);
  assert.equal((await owner.post(MEMBERS, { name: "Bo", role: "king" })).status, 400);
});

test("a role that is given bites on the very next page, and so does a removal", async () => {
  const ada = await actAs(service, tenant, "viewer", "Bea");
  const page = `${MEMBERS}/${await idOf("Bea")}`;
  assert.equal(await statusOf(ada, MEMBERS), 403);
  const raised = await owner.post(`${page}/role`, { role: "admin" });
  assert.deepEqual(
    [raised.status, raised.location, raised.done],
    [303, page, `Bea is now an admin of ${tenant.shopDomain}.`],
  );
  assert.equal(await statusOf(ada, MEMBERS), 200);
  assert.doesNotMatch((await ada.get(MEMBERS)).text, /value="owner"/u);
  const ownerPage = await ada.get(`${MEMBERS}/${await idOf("Olga")}`);
  assert.match(ownerPage.text, /Only an owner can change or remove an owner/u);
  const forbidden = await ada.post(`${MEMBERS}/${await idOf("Olga")}/role`, { role: "viewer" });
  assert.equal(forbidden.status, 403);
  const removed = await owner.post(`${page}/remove`, {});
  assert.deepEqual([removed.status, removed.location], [303, MEMBERS]);
  assert.equal(await statusOf(ada, NOTICES), 303, "the session is gone with the person");
  assert.equal(await statusOf(owner, page), 404);
  assert.equal((await owner.post(`${page}/remove`, {})).status, 404);
});

test("a recovery is a notice of every owner, and nobody else's", async () => {
  const bob = await actAs(service, tenant, "viewer", "Bob");
  const id = await idOf("Bob");
  const sent = await owner.post(`${MEMBERS}/${id}/link`, {});
  assert.match(linkIn(sent.text), /enter#/u);
  assert.equal(await statusOf(bob, NOTICES), 303);
  const told = (await owner.get(NOTICES)).text;
  assert.match(told, /A recovery link was created for a member/u);
  assert.ok(told.includes(`/w/${tenant.shopDomain}${MEMBERS}/${id}`));
  const viewer = await actAs(service, tenant, "viewer", "Vic");
  assert.match((await viewer.get(NOTICES)).text, /No notices yet/u);
});

test("anyone may leave but the last owner", async () => {
  const last = await owner.post(`${NOTICES}/leave`, {});
  assert.equal(last.status, 409);
  assert.match(last.text, /is the last owner of /u);
  const viewer = await actAs(service, tenant, "viewer", "Leaver");
  const left = await viewer.post(`${NOTICES}/leave`, {});
  assert.deepEqual([left.status, left.location], [303, "/w"]);
  assert.equal(await idOf("Leaver"), "");
});

test("what was done to members is audited, without a name or a link", async () => {
  const own = await createTenant(service.database);
  const boss = await actAs(service, own, "owner", "Boss");
  const { text } = await boss.post(MEMBERS, { name: "Kim", role: "viewer" });
  const id = await idOf("Kim");
  await boss.post(`${MEMBERS}/${id}/role`, { role: "admin" });
  await boss.post(`${MEMBERS}/${id}/link`, {});
  await boss.post(`${MEMBERS}/${id}/remove`, {});
  const events = await auditOf(service, own);
  assert.deepEqual(
    events.map(({ action, before: earlier }) => [action, earlier]),
    [
      ["member.invite", null],
      ["member.set", { role: "viewer" }],
      ["member.invite", null],
      ["member.remove", { role: "admin" }],
    ],
  );
  const stored = JSON.stringify(events);
  assert.ok(!stored.includes("Kim") && !stored.includes(linkIn(text).slice(-43)));
  const shown = (await boss.get("/settings/audit")).text;
  assert.match(shown, /removed member/u);
  assert.ok(!shown.includes("Kim"));
});

test("a member of another workspace finds nobody here", async () => {
  const other = await createTenant(service.database);
  const stranger = await actAs(service, other, "owner", "Stranger");
  const id = await idOf("Olga");
  const own = `/w/${other.shopDomain}${MEMBERS}/${id}`;
  const page = await fetch(`${service.address}${own}`, { headers: { cookie: stranger.cookie } });
  assert.equal(page.status, 404);
  assert.equal((await stranger.post(`${MEMBERS}/${id}/remove`, {})).status, 404);
  const person = await createPerson(service.database);
  await setRole(service.database, tenant, person, "viewer");
  assert.equal((await stranger.post(`${MEMBERS}/${person.userId}/role`, { role: "owner" })).status, 404);
});
