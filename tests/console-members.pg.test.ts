import assert from "node:assert/strict";
import { test } from "node:test";
import { actAs, auditOf, type Member } from "./support/scene.ts";
import { cookieOf, openPage, postForm, userIdOf } from "./support/console-person.ts";
import { createPerson, setRole } from "./support/people.ts";
import { send, startTestService } from "./support/service.ts";
import { createTenant, type Tenant } from "./support/tenants.ts";
import { before, use } from "./support/use.ts";

/** The pages of people: members, one member, one's own notices. */

const MEMBERS = "/settings/members";
const NOTICES = "/settings/notices";

const service = use(startTestService);
let tenant: Tenant;
let owner: Member;

before(async () => {
  tenant = await createTenant(service.database);
  owner = await actAs(service, tenant, "owner", "Olga");
});

const linkIn = (text: string): string =>
  /http:\/\/[^/\s]+\/enter\?link=[\w-]{43}#[A-Za-z0-9_-]{43}/u.exec(text)?.[0] ?? "";

const idOf = (name: string): Promise<string> => userIdOf(service, name);

const statusOf = async (member: Member, path: string): Promise<number> => (await member.get(path)).status;

test("an owner invites somebody, who signs in by the link, sees the pages and is listed", async () => {
  const sent = await owner.post(MEMBERS, { name: "Ada <b>", role: "viewer" });
  assert.equal(sent.status, 200);
  const link = linkIn(sent.text);
  assert.match(link, new RegExp(`^${service.address.replace("127.0.0.1", "[^/]+")}/enter\\?link=`, "u"));
  assert.match(
    sent.text,
    /href="mailto:\?subject=[^"]+%20invites%20you%20to[^"]+%2Fenter%3Flink%3D[\w-]{43}%23/u,
  );
  assert.match((await owner.get(MEMBERS)).text, /Ada &lt;b&gt;[\s\S]*invited; the link works until/u);
  const secret = link.slice(link.indexOf("#") + 1);
  const entered = await postForm(service, "/enter", { secret });
  const own = await openPage(service, `/w/${tenant.shopDomain}${NOTICES}`, cookieOf(entered));
  assert.equal(own.status, 200);
  assert.match((await owner.get(MEMBERS)).text, /Ada &lt;b&gt;[\s\S]*UTC[\s\S]*active/u);
  const page = `${MEMBERS}/${await idOf("Ada <b>")}`;
  assert.match((await owner.get(page)).text, /Recover access/u);
});

test("the page of an invitation shows who invites, the workspace and the role, and after it has ended, what to do", async () => {
  const { database } = service;
  await database.query("update shop_directory set display_name = 'Acme <Ltd>' where shop_key = $1", [
    tenant.shopKey,
  ]);
  const invite = async (name: string) => {
    const link = linkIn((await owner.post(MEMBERS, { name, role: "admin" })).text);
    return {
      name,
      page: link.slice(link.indexOf("/enter"), link.indexOf("#")),
      secret: link.slice(link.indexOf("#") + 1),
    };
  };
  const look = async (path: string, method = "GET") => {
    const { status, text } = await send(service.address + path, { method, headers: {} });
    return { status, text: text.replaceAll(/\s+/gu, " ") };
  };
  const ivy = await invite("Ivy");
  for (const method of ["HEAD", "GET", "GET"]) assert.equal((await look(ivy.page, method)).status, 200);
  const { text } = await look(ivy.page);
  assert.match(text, /<h1>Olga invites you to Acme &lt;Ltd&gt;<\/h1>/u);
  assert.match(text, /You sign in as Ivy, an admin, who also changes settings/u);
  assert.ok(!text.includes(ivy.secret));
  // The name of a link does not open it.
  const named = ivy.page.slice(ivy.page.indexOf("=") + 1);
  assert.equal((await postForm(service, "/enter", { secret: named })).status, 403);
  const entered = await postForm(service, "/enter", { secret: ivy.secret });
  assert.match(
    Buffer.from(
      /returns-done=([^;]+)/u.exec(entered.headers.get("set-cookie") ?? "")?.[1] ?? "",
      "base64url",
    ).toString(),
    /You are signed in\. Passkeys do not work on an IP address: open the console as http:\/\/localhost/u,
  );
  const used = await look(ivy.page);
  assert.equal(used.status, 403);
  assert.match(
    used.text,
    /This invitation no longer works.*has been used already; it works once\. If that was not you, tell Olga\./u,
  );
  const joe = await invite("Joe");
  await database.query(
    "update console_link set created_at = now() - interval '9 days', expires_at = now() - interval '1 day' where user_id = $1",
    [await idOf("Joe")],
  );
  assert.match((await look(joe.page)).text, /has expired\. Ask Olga for a new one\./u);
  const kai = await invite("Kai");
  await owner.post(`${MEMBERS}/${await idOf("Kai")}/role`, { role: "viewer" });
  assert.match((await look(kai.page)).text, /have changed\. Ask Olga for a new one\./u);
  const lea = await invite("Lea");
  await owner.post(`${MEMBERS}/${await idOf("Lea")}/remove`, {});
  // Withdrawn, guessed and damaged links show nobody's data.
  const unknown = [lea.page, `/enter?link=${"A".repeat(43)}`, "/enter?link=", "/enter?link=%00", "/enter"];
  const pages = await Promise.all(unknown.map((path) => look(path)));
  for (const page of pages) assert.deepEqual(page, pages[0]);
  const tried = await postForm(service, "/enter", { secret: lea.secret });
  assert.match(tried.text, /This link is not valid: it was withdrawn, has expired, or is not complete\./u);
  await database.query("update shop_directory set display_name = null where shop_key = $1", [tenant.shopKey]);
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

test("a refused invitation keeps its values", async () => {
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

test("a new role takes effect on the next page, and so does a removal", async () => {
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

test("a recovery gives a notice to every owner, and to nobody else", async () => {
  const bob = await actAs(service, tenant, "viewer", "Bob");
  const id = await idOf("Bob");
  const sent = await owner.post(`${MEMBERS}/${id}/link`, {});
  assert.match(linkIn(sent.text), /enter/u);
  assert.equal(await statusOf(bob, NOTICES), 303);
  const told = (await owner.get(NOTICES)).text;
  assert.match(told, /A recovery link was created for a member/u);
  assert.ok(told.includes(`/w/${tenant.shopDomain}${MEMBERS}/${id}`));
  const viewer = await actAs(service, tenant, "viewer", "Vic");
  assert.match((await viewer.get(NOTICES)).text, /No notices yet/u);
});

test("changes of members are audited, without a name or a link", async () => {
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
  assert.equal((await stranger.get(`${MEMBERS}/${id}`)).status, 404);
  assert.equal((await stranger.post(`${MEMBERS}/${id}/remove`, {})).status, 404);
  const person = await createPerson(service.database);
  await setRole(service.database, tenant, person, "viewer");
  assert.equal((await stranger.post(`${MEMBERS}/${person.userId}/role`, { role: "owner" })).status, 404);
});
