import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { runAction } from "../src/actions/action.ts";
import { nextMonday, setDigest, digestAddress } from "../src/actions/digest/actions.ts";
import { sendDigests } from "../src/actions/digest/send.ts";
import type { DigestEnvironment } from "../src/actions/digest/send.ts";
import { textInput } from "../src/actions/field.ts";
import { deleteMember } from "../src/actions/members/queries.ts";
import { requireWorkspace } from "../src/actions/workspace/workspace.ts";
import { ENDPOINTS } from "../src/contract/registry.ts";
import { keyFor } from "../src/lib/keys.ts";
import { userName } from "../src/lib/user-name.ts";
import { actAs, auditOf } from "./support/scene.ts";
import { useChromium } from "./support/chromium.ts";
import { startConsoleDemo } from "./support/console-demo.ts";
import { createStore } from "./support/import-store.ts";
import { mailPart, startMailServer } from "./support/mail-server.ts";
import type { Mail } from "./support/mail-server.ts";
import { openOperations } from "./support/operations.ts";
import type { TestOperations } from "./support/operations.ts";
import { dataFigures } from "./support/page-figures.ts";
import { createPerson, setRole } from "./support/people.ts";
import type { Person } from "./support/people.ts";
import { DEFAULT_RETENTION } from "./support/worker.ts";
import { changeWorkspace, createTenant, insertRows } from "./support/tenants.ts";
import { before, use } from "./support/use.ts";

/** The weekly digest: requested, confirmed, sent once a week, and stopped by its link. */
const ORIGIN = "https://returns.example";
const NOW = new Date("2026-11-25T12:00:00Z");
const MONDAY = new Date("2026-11-30T06:00:01Z");
const WEEK_MS = 7 * 86_400_000;
const later = (weeks: number): Date => new Date(MONDAY.getTime() + weeks * WEEK_MS);

const demo = use(startConsoleDemo);
let operations: TestOperations;
let shop: { shopKey: number; shopDomain: string };
let mail: Awaited<ReturnType<typeof startMailServer>>;
let viewer: Person;

before(async () => {
  operations = await openOperations(demo.service);
  const { rows } = await demo.service.database.query<{ shop_key: string }>(
    "select shop_key from shop_directory where shop_domain = 'demo-store.example'",
  );
  shop = { shopKey: Number(rows[0]?.shop_key), shopDomain: "demo-store.example" };
});
beforeEach(async () => {
  mail = await startMailServer();
  viewer = await createPerson(demo.service.database);
  await setRole(demo.service.database, shop, viewer, "viewer");
});
afterEach(async () => {
  await demo.service.database.query("delete from weekly_digest");
  await mail.stop();
});

function environment(at: Date, push = mail.push): DigestEnvironment {
  const { installation, keys } = demo.service;
  const { database } = installation;
  return {
    operations: ENDPOINTS.map((endpoint) => operations.operationOf(endpoint)),
    control: {
      database: database as DigestEnvironment["control"]["database"],
      keys,
      connecting: { publicUrl: null } as unknown as DigestEnvironment["control"]["connecting"],
      exporting: database as DigestEnvironment["control"]["exporting"],
      push,
      retention: DEFAULT_RETENTION,
      provider: null,
    },
    site: { publicOrigin: ORIGIN },
    now: () => at,
    random: () => 0,
    log: { warn: (about, message) => assert.fail(`${message}: ${JSON.stringify(about)}`) },
  };
}

const send = (at: Date, push = mail.push): Promise<void> =>
  sendDigests(environment(at, push), new AbortController().signal);

async function ask(
  person: Person,
  { address = "ada@shop.example", time_zone = "Europe/Berlin", now = NOW, by = shop, origin = ORIGIN } = {},
) {
  const { database } = demo.service.installation;
  const caller = {
    database,
    keys: demo.service.keys,
    push: mail.push,
    workspace: await requireWorkspace(database, by.shopDomain),
    actor: {
      name: userName(person.userId),
      origin: null,
      standing: "viewer",
      isFresh: false,
      session: { userId: person.userId, sessionHash: person.sessionHash },
    } as const,
    now,
    consoleOrigin: () => origin,
  };
  return runAction(setDigest, caller, textInput({ address, time_zone }));
}

/** The link of a mail, at the server of the test. */
function linkIn(text: string): string {
  const [, link = assert.fail(text)] = /https:\/\/returns\.example(\/digest\?link=[\w.-]+)/u.exec(text) ?? [];
  return demo.service.address + link;
}

const press = async (address: string, init: RequestInit = {}) => {
  const response = await fetch(address, { method: "POST", redirect: "manual", ...init });
  return { status: response.status, text: await response.text() };
};

/** Requests the digest, and follows the link of the mail. */
async function subscribe(person: Person, more: Parameters<typeof ask>[1] = {}): Promise<void> {
  await ask(person, more);
  const link = linkIn(mailPart(mail.mails.splice(0)[0] as Mail, "text/plain"));
  assert.match((await press(link)).text, /Confirmed\./u);
  // The server confirms by its own clock.
  await demo.service.database.query("update weekly_digest set due_at = $2 where user_id = $1", [
    person.userId,
    nextMonday(more.time_zone ?? "Europe/Berlin", NOW),
  ]);
}

const stateOf = async ({ userId }: Person) =>
  (
    await demo.service.database.query<{ due_at: Date | null; last_problem: string | null; failures: number }>(
      "select due_at, last_problem, failures from weekly_digest where user_id = $1 and address <> ''",
      [userId],
    )
  ).rows[0];

test("a week's digest is sent on Monday at seven of the member's time zone", () => {
  for (const [zone, now, next] of [
    ["Europe/Berlin", "2026-11-25T12:00:00Z", "2026-11-30T06:00:00Z"],
    ["Europe/Berlin", "2026-11-30T05:59:59Z", "2026-11-30T06:00:00Z"],
    ["Europe/Berlin", "2026-11-30T06:00:00Z", "2026-12-07T06:00:00Z"],
    // Summer time ends and begins on the Sunday before.
    ["Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-26T06:00:00Z"],
    ["Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T05:00:00Z"],
    ["America/Los_Angeles", "2026-11-30T06:00:00Z", "2026-11-30T15:00:00Z"],
    ["Pacific/Kiritimati", "2026-11-29T16:59:59Z", "2026-11-29T17:00:00Z"],
    ["Asia/Kathmandu", "2026-11-29T23:00:00Z", "2026-11-30T01:15:00Z"],
  ] as const) {
    assert.equal(nextMonday(zone, new Date(now)).toISOString(), next.replace("Z", ".000Z"), `${zone} ${now}`);
  }
});

test("a digest is sent once a week whatever the number of workers, with the overview's figures, until its link stops it", async () => {
  const { done } = await ask(viewer);
  assert.match(done, /An e-mail was sent to ada@shop\.example/u);
  const [asking = assert.fail()] = mail.mails.splice(0);
  const confirm = linkIn(mailPart(asking, "text/plain"));
  assert.match(mailPart(asking, "text/html"), /A member of Demo Store|A member of demo-store/u);
  await send(later(1));
  assert.equal(mail.mails.length, 0, "nothing without confirmation");
  for (const method of ["GET", "HEAD"]) {
    const looked = await fetch(confirm, { method });
    assert.equal(looked.status, 200);
    if (method === "GET") assert.match(await looked.text(), /<button>Send me the digest<\/button>/u);
    assert.equal((await stateOf(viewer))?.due_at, null, `${method} confirms nothing`);
  }
  assert.match((await press(confirm)).text, /Confirmed\./u);
  const monday = nextMonday("Europe/Berlin", new Date());
  assert.deepEqual((await stateOf(viewer))?.due_at, monday);

  const at = new Date(monday.getTime() + 1000);
  await Promise.all([send(at), send(at), send(at)]);
  await send(new Date(at.getTime() + WEEK_MS / 2));
  const [digest = assert.fail(), ...others] = mail.mails.splice(0);
  assert.deepEqual(others, []);
  assert.deepEqual(digest.to, ["ada@shop.example"]);
  const markup = mailPart(digest, "text/html");
  const member = await actAs(demo.service, shop, "viewer");
  const page = dataFigures((await member.get("")).text);
  const figures = dataFigures(markup);
  assert.ok(figures.length > 40, String(figures.length));
  for (const figure of figures) {
    // The page has it in the line that is on every page.
    if (figure.from === "report/meta/data_as_of") continue;
    assert.deepEqual(
      page.find(({ from }) => from === figure.from),
      figure,
    );
  }
  assert.doesNotMatch(markup, /<script|<img|<link|url\(/u);
  const links = [...markup.matchAll(/href="([^"]*)"/gu)].map(([, href = ""]) => href);
  assert.ok(links.length > 2 && links.every((href) => href.startsWith(`${ORIGIN}/`)), links.join(" "));
  const text = mailPart(digest, "text/plain");
  assert.match(text, /PROBLEMS\r?\n\r?\n\S.*\(all its SKUs|PROBLEMS\r?\n\r?\nGlow/u);
  assert.doesNotMatch(text, /[<>]|&\w+;|undefined|null/u);
  const stop = linkIn(text);
  assert.ok(digest.text.includes(`List-Unsubscribe: <${stop.replace(demo.service.address, ORIGIN)}>`));
  assert.match(digest.text, /^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/mu);

  const looked = await fetch(stop);
  assert.match(await looked.text(), /<button>Stop weekly digest<\/button>/u);
  assert.notEqual(await stateOf(viewer), undefined, "a look stops nothing");
  const body = new FormData();
  body.set("List-Unsubscribe", "One-Click");
  const stopped = await press(stop, { body });
  assert.equal(stopped.status, 200);
  assert.match(stopped.text, /is off\. You will not receive it any more\./u);
  assert.match((await press(stop)).text, /is already off/u);
  assert.match((await press(confirm)).text, /no longer valid/u);
  await assert.rejects(ask(viewer), /wait a minute/u, "no second mail right after a stop");
  await send(new Date(at.getTime() + WEEK_MS));
  assert.equal(mail.mails.length, 0);
  const audit = await auditOf(demo.service, shop);
  assert.deepEqual(
    audit.map(({ action }) => action).filter((action) => action.startsWith("digest.")),
    ["digest.set", "digest.confirm", "digest.stop"],
  );
  assert.ok(!demo.service.logs.some((line) => /digest\?link=/u.test(line)), "no link is in a log");
  await demo.service.database.query("delete from weekly_digest");
});

test("a month without sales has no return rate", async () => {
  const order = { order_id: "o1", line_id: "1", ordered_at: "2026-05-03T10:00:00Z", sku: "LAMP", units: 8 };
  const files = { order_lines: [order] };
  const tenant = await createStore(demo.service, { asOf: "2026-07-15T00:00:00Z", files });
  await setRole(demo.service.database, tenant, viewer, "viewer");
  await subscribe(viewer, { by: tenant });
  await send(later(0));
  const [digest = assert.fail()] = mail.mails;
  const text = mailPart(digest, "text/plain");
  assert.match(text, /^Apr 2026 {2}– nothing was sold\r?\nMay 2026 {5}0\.0 %\r?$/mu);
  assert.match(mailPart(digest, "text/html"), /– <small>nothing was sold<\/small>/u);
});

test("a digest counts all problems, and leads to those that it does not show", async () => {
  const skus = ["A", "B", "C", "D", "E"];
  const files = {
    order_lines: skus.map((sku) => ({
      order_id: sku,
      line_id: "1",
      ordered_at: "2026-05-03T10:00:00Z",
      sku,
      units: 8,
    })),
  };
  const tenant = await createStore(demo.service, { asOf: "2026-07-15T00:00:00Z", files });
  await insertRows(
    demo.service.database,
    "alert",
    skus.map((sku) => ({
      shop_key: tenant.shopKey,
      alert_id: `spike-${sku}`,
      event_key: `spike:sku:${sku}:2026-05`,
      category: "return_rate_watchlist",
      severity: "warning",
      title: `Return rate of ${sku} jumped`,
      metadata: {
        kind: "month",
        sku,
        cohort_month: "2026-05",
        sold_units: 8,
        returned_units: 4,
        return_rate: 0.5,
        baseline_rate: 0.1,
        episode_id: sku,
        started_on: "2026-05-01",
        state: "open",
      },
      created_at: "2026-07-15T00:00:00Z",
    })),
  );
  await setRole(demo.service.database, tenant, viewer, "viewer");
  await subscribe(viewer, { by: tenant });
  await send(later(0));
  const [digest = assert.fail()] = mail.mails;
  assert.match(digest.text, /^Subject: Weekly digest of \S+: 5 problems\r$/mu);
  const href = `${ORIGIN}/w/${tenant.shopDomain}/alerts?state=open`;
  assert.ok(mailPart(digest, "text/plain").includes(`All 5 problems: ${href}`));
  assert.ok(mailPart(digest, "text/html").includes(`<a href="${href}"`));
  const member = await actAs(demo.service, tenant, "viewer");
  assert.match((await member.get("")).text, /\/alerts\?state=open">All 5 problems<\/a>/u);
});

test("an unconfirmed address gets at most ten mails a day, and so do a member's addresses together", async () => {
  const saveAt = (minutes: number, address: string) =>
    ask(viewer, { address, now: new Date(NOW.getTime() + minutes * 61_000) });
  for (let save = 0; save < 10; save++)
    await saveAt(save, save < 5 ? "ada@shop.example" : `${save}@shop.example`);
  for (const address of ["ada@shop.example", "new@shop.example"])
    await assert.rejects(saveAt(10, address), /10 times within a day: no more confirmation e-mails/u);
  assert.equal(mail.mails.length, 10);
  const earlier = linkIn(mailPart(mail.mails[0] as Mail, "text/plain"));
  assert.match((await press(earlier)).text, /no longer valid/u, "nobody confirms another's address with it");
  assert.equal((await stateOf(viewer))?.due_at, null);
  const other = await createPerson(demo.service.database);
  await setRole(demo.service.database, shop, other, "viewer");
  await ask(other);
  await demo.service.database.query("update audit_event set happened_at = happened_at - interval '1 day'");
  await saveAt(11, "ada@shop.example");
  assert.equal(mail.mails.length, 12);
});

test("members who give the same address can have at most ten mails a day sent to it together", async () => {
  const people = await Promise.all(Array.from({ length: 11 }, () => createPerson(demo.service.database)));
  for (const person of people) await setRole(demo.service.database, shop, person, "viewer");
  const last = people.pop() as Person;
  for (const person of people) await ask(person, { address: "stranger@else.example" });
  assert.equal(mail.mails.length, 10);
  for (const address of ["stranger@else.example", "Stranger@ELSE.example"])
    await assert.rejects(ask(last, { address }), /named this address, 10 times within a day/u);
  await ask(last, { address: "own@else.example" });
  assert.equal(mail.mails.length, 11);
  const audit = JSON.stringify(await auditOf(demo.service, shop));
  assert.doesNotMatch(audit, /else\.example/u, "the audit names no address");
});

test("digests saved at the same time send no more mails than one after the other", async () => {
  const saveOnce = Array.from({ length: 4 }, () => ask(viewer));
  const saved = await Promise.allSettled(saveOnce);
  assert.equal(saved.filter(({ status }) => status === "fulfilled").length, 1);
  const people = await Promise.all(Array.from({ length: 12 }, () => createPerson(demo.service.database)));
  for (const person of people) await setRole(demo.service.database, shop, person, "viewer");
  await Promise.allSettled(people.map((person) => ask(person, { address: "crowd@else.example" })));
  assert.equal(mail.mails.length, 1 + 10);
});

test("a member sees that their address refuses mail", async () => {
  const member = await actAs(demo.service, shop, "viewer", "Refused Reader");
  const put = (problem: string | null) =>
    demo.service.database.query(
      `insert into weekly_digest (shop_key, user_id, address, time_zone, asked_at, due_at, last_problem)
       values ($1, $2, 'ada@shop.example', 'UTC', now(), null, $3)
       on conflict (shop_key, user_id) do update set last_problem = $3`,
      [shop.shopKey, member.userId, problem],
    );
  await put(null);
  assert.match((await member.get("/settings/notices")).text, /ada@shop\.example is not confirmed yet/u);
  await put("Not sent: The mail server refused the recipient or the message (550 no).");
  const { text } = await member.get("/settings/notices");
  assert.match(text, /Nothing is sent to ada@shop\.example any more: save the digest again/u);
  assert.match(text, /The mail server refused the recipient/u);
  assert.doesNotMatch(text, /not confirmed yet/u);
});

test("a link is valid only for its purpose, member and workspace, and not for a removed member", async () => {
  const tenant = await createTenant(demo.service.database);
  const other = await createPerson(demo.service.database);
  await setRole(demo.service.database, tenant, other, "owner");
  await subscribe(viewer);
  const key = keyFor("digests", demo.service.keys);
  const address = (link: Partial<Parameters<typeof digestAddress>[2]>): string =>
    digestAddress(key, demo.service.address, {
      purpose: "stop",
      shopKey: shop.shopKey,
      userId: viewer.userId,
      askedAt: 0,
      ...link,
    });
  const good = address({});
  const at = good.indexOf("=") + 1;
  const forged = [
    good.slice(0, at),
    good.replace("stop", "confirm"),
    good.replace(`.${shop.shopKey}.`, `.${tenant.shopKey}.`),
    good.replace(viewer.userId, other.userId),
    `${good}a`,
    digestAddress(Buffer.alloc(32), demo.service.address, {
      purpose: "stop",
      shopKey: shop.shopKey,
      userId: viewer.userId,
      askedAt: 0,
    }),
    // Signed, but for somebody who is not a member there.
    address({ userId: other.userId }),
    address({ shopKey: tenant.shopKey }),
  ];
  for (const place of [at + 3, at + 20, good.length - 10]) {
    const flipped = good[place] === "A" ? "B" : "A";
    forged.push(good.slice(0, place) + flipped + good.slice(place + 1));
  }
  const [first, ...rest] = await Promise.all(
    forged.map(async (link) => ({ got: await (await fetch(link)).text(), ...(await press(link)) })),
  );
  assert.equal(first?.status, 404);
  for (const each of rest) assert.deepEqual(each, first, "what does not work says the same of everybody");
  assert.notEqual(await stateOf(viewer), undefined);
  // A form from another site's page is accepted, since the link names its person.
  assert.equal((await press(good, { headers: { origin: "https://evil.example" } })).status, 200);
  assert.equal(await stateOf(viewer), undefined);

  await subscribe(viewer, { now: new Date(NOW.getTime() + 120_000) });
  await deleteMember(demo.service.installation.database, shop.shopKey, viewer.userId);
  assert.equal(await stateOf(viewer), undefined);
  assert.equal((await press(good)).status, 404);
  await send(later(0));
  assert.deepEqual(mail.mails, []);
});

test("nothing is sent while billing is inactive, figures are withheld or the member is disabled; afterwards the next week's digest is", async () => {
  await subscribe(viewer);
  const { database } = demo.service;
  const steps: [string, () => Promise<unknown>, () => Promise<unknown>][] = [
    [
      "billing",
      () => changeWorkspace(database, shop, { billing_status: "inactive" }),
      () => changeWorkspace(database, shop, { billing_status: "active" }),
    ],
    [
      "erasing",
      () => changeWorkspace(database, shop, { erase_after: "2027-12-01T00:00:00Z" }),
      () => changeWorkspace(database, shop, { erase_after: null }),
    ],
    [
      "moving",
      () => changeWorkspace(database, shop, { moving_to: "https://elsewhere.example" }),
      () => changeWorkspace(database, shop, { moving_to: null }),
    ],
    [
      "disabled",
      () => database.query("update console_user set disabled_at = now() where user_id = $1", [viewer.userId]),
      () => database.query("update console_user set disabled_at = null where user_id = $1", [viewer.userId]),
    ],
  ];
  for (const [index, [what, change, changeBack]] of steps.entries()) {
    await change();
    try {
      await send(later(index));
    } finally {
      await changeBack();
    }
    assert.deepEqual(mail.mails, [], what);
    assert.match((await stateOf(viewer))?.last_problem ?? "", /^Not sent: /u);
    assert.deepEqual((await stateOf(viewer))?.due_at, nextMonday("Europe/Berlin", later(index)), what);
  }
  await send(later(steps.length));
  assert.equal(mail.mails.length, 1);
  assert.equal((await stateOf(viewer))?.last_problem, null);
});

test("an unreachable mail server is tried again within the day with the same message id; one that refuses the address ends the digest", async () => {
  await subscribe(viewer);
  const seen: string[] = [];
  let code = 451;
  const refusing = await startMailServer({
    onRcptTo: ({ address }, _session, done) => {
      seen.push(address);
      return done(Object.assign(new Error("no"), { responseCode: code }));
    },
  });
  await send(later(0), refusing.push);
  const tried = await stateOf(viewer);
  assert.equal(tried?.failures, 1);
  assert.match(tried.last_problem ?? "", /Not sent: .*451/u);
  await send(later(0), refusing.push);
  assert.equal(seen.length, 1, "not before its time");
  await send(tried.due_at as Date);
  const [digest = assert.fail()] = mail.mails.splice(0);
  assert.match(digest.text, /^Message-ID: <digest-2026-11-30-/mu);
  code = 550;
  await send(later(1), refusing.push);
  const refused = await stateOf(viewer);
  assert.deepEqual([refused?.due_at, refused?.failures], [null, 0]);
  await refusing.stop();

  // A worker that is killed while it sends leaves the digest to another, fifteen minutes later.
  await subscribe(viewer, { now: new Date(NOW.getTime() + 120_000) });
  const killed = { ...environment(later(0)), site: { publicOrigin: ORIGIN } };
  const never = new Promise<never>(() => {});
  killed.operations = killed.operations.map((each) => ({ ...each, read: () => never }));
  void sendDigests(killed, new AbortController().signal);
  await new Promise((done) => setTimeout(done, 300));
  await send(later(0));
  assert.equal(mail.mails.length, 0);
  await send(new Date(later(0).getTime() + 16 * 60_000));
  assert.equal(mail.mails.length, 1);
});

test("a workspace's name cannot add a header to a mail, or an element to its body", async () => {
  const { database } = demo.service;
  const hostile = 'A\r\nBcc: other@shop.example\r\n\r\n<img src=x> "&';
  await database.query("update shop_directory set display_name = $2 where shop_key = $1", [
    shop.shopKey,
    hostile,
  ]);
  try {
    await subscribe(viewer);
    await send(later(0));
    const [digest = assert.fail()] = mail.mails;
    const [head = ""] = digest.text.split("\r\n\r\n");
    assert.doesNotMatch(head, /^Bcc:/mu);
    assert.deepEqual(digest.to, ["ada@shop.example"]);
    assert.doesNotMatch(mailPart(digest, "text/html"), /<img/u);
  } finally {
    await database.query("update shop_directory set display_name = 'Demo Store' where shop_key = $1", [
      shop.shopKey,
    ]);
  }
  for (const address of ["a@b\r\nBcc: c@d", "a@b,c@d", "Ada <a@b>", "", "a".repeat(300)]) {
    await assert.rejects(ask(viewer, { address }), /must be one e-mail address/u, address);
  }
  await assert.rejects(ask(viewer, { time_zone: "Mars/Base" }), /must be one from the list/u);
  await assert.rejects(ask(viewer, { address: "new@shop.example" }), /wait a minute/u);
  const next = { address: "new@shop.example", now: new Date(Date.now() + 3_600_000) };
  await assert.rejects(ask(viewer, { ...next, origin: "http://localhost:8080" }), /https address/u);
  await ask(viewer, next);
  assert.equal((await stateOf(viewer))?.due_at, null, "a new address has to confirm again");
});

const browser = useChromium(async () => async () => {});

test("the mail is readable: on a phone and on a screen", async (context) => {
  await subscribe(viewer);
  await send(later(0));
  const markup = mailPart(mail.mails[0] as Mail, "text/html");
  for (const width of [390, 900]) {
    await browser.withPage(context, { viewport: { width, height: 900 } }, async (page) => {
      await page.setContent(markup);
      const wide = Number(await page.evaluate("document.documentElement.scrollWidth"));
      assert.ok(wide <= width, `${wide} px at ${width}`);
    });
  }
});
