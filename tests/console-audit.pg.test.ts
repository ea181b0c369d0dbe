import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "csv-parse/sync";
import { OPERATOR } from "../src/actions/actor.ts";
import { runAction } from "../src/actions/action.ts";
import { textInput } from "../src/actions/field.ts";
import { createToken, rotateToken } from "../src/actions/tokens/actions.ts";
import { addSaleEvent, removeSaleEvent } from "../src/actions/sale-events/actions.ts";
import { setPlan } from "../src/actions/plan/actions.ts";
import { requireWorkspace } from "../src/actions/workspace/workspace.ts";
import { STATEMENTS } from "../src/store/database.ts";
import { isCitus } from "./support/citus.ts";
import { actAs, type Member } from "./support/scene.ts";
import { startTestService } from "./support/service.ts";
import { createTenant, insertRows, type Tenant } from "./support/tenants.ts";
import { before, use } from "./support/use.ts";

/** The page of the audit: who, what, before and after, filters, pages, CSV. */

const AUDIT = "/settings/audit";

let tenant: Tenant;
let owner: Member;

const service = use(startTestService);
before(async () => {
  tenant = await createTenant(service.database);
  owner = await actAs(service, tenant, "owner", "Olga <i>");
});

const EVENTS = 130;
const DAY_MS = 86_400_000;

/** Events of a workspace, one minute apart, two at each moment, with values that a spreadsheet would execute. */
async function seedEvents({ shopKey }: Tenant): Promise<void> {
  await insertRows(
    service.database,
    "audit_event",
    Array.from({ length: EVENTS }, (_, index) => ({
      shop_key: shopKey,
      audit_id: crypto.randomUUID(),
      happened_at: new Date(Date.UTC(2026, 0, 1 + Math.floor(index / 50), 0, Math.floor((index % 50) / 2))),
      actor: index % 3 === 0 ? "operator" : "shopify",
      action: index % 3 === 0 ? "watch.add" : "import",
      detail: { key: index === 0 ? "=1+1" : `SKU-${index}`, note: "<script>alert(1)</script>" },
      before: null,
    })),
  );
}

const rowsOf = (text: string): number => [...text.matchAll(/<th scope="row">/gu)].length;
const nextOf = (text: string): string | null =>
  /href="[^"]*(\?[^"]*cursor=[^"]*)"/u.exec(text)?.[1]?.replaceAll("&amp;", "&") ?? null;

async function walk(member: Member, query: string): Promise<{ pages: number; rows: number; keys: string[] }> {
  let place: string | null = query;
  const found = { pages: 0, rows: 0, keys: [] as string[] };
  while (place !== null) {
    const { status, text } = await member.get(AUDIT + place);
    assert.equal(status, 200);
    found.pages += 1;
    found.rows += rowsOf(text);
    found.keys.push(...[...text.matchAll(/SKU-\d+/gu)].map(([key]) => key));
    place = nextOf(text);
  }
  return found;
}

test("the pages together have every event once, even if several happened at one moment", async () => {
  const own = await createTenant(service.database);
  const reader = await actAs(service, own, "admin", "Reader");
  await service.database.query("delete from audit_event where shop_key = $1", [own.shopKey]);
  await seedEvents(own);
  const { pages, rows, keys } = await walk(reader, "");
  assert.deepEqual([pages, rows, new Set(keys).size], [3, EVENTS, EVENTS - 1]);
  assert.deepEqual(await walk(reader, "?who=operator").then((found) => found.rows), 44);
  assert.equal((await walk(reader, "?action=import")).rows, EVENTS - 44);
  assert.equal((await walk(reader, "?from=2026-01-02&to=2026-01-02")).rows, 50);
  assert.equal((await walk(reader, "?who=operator&from=2026-01-03")).rows, 10);
});

test("the CSV has all entries of a filter, and no spreadsheet formulas", async () => {
  const own = await createTenant(service.database);
  const reader = await actAs(service, own, "admin", "Reader of CSV");
  await service.database.query("delete from audit_event where shop_key = $1", [own.shopKey]);
  await seedEvents(own);
  const sent = await reader.post(`${AUDIT}/csv`, { who: "operator" });
  assert.equal(sent.status, 200);
  const [head, ...rows] = parse(sent.text);
  assert.deepEqual(head, ["happened_at", "who", "actor", "action", "what", "changes", "origin"]);
  assert.equal(rows.length, 44);
  assert.deepEqual(rows.at(-1)?.slice(0, 5), [
    "2026-01-01T00:00:00.000Z",
    "Operator",
    "operator",
    "watch.add",
    "Added to the watchlist",
  ]);
  await service.database.query(
    "insert into audit_event (shop_key, actor, action, detail) values ($1, '=cmd', '@run', '{}')",
    [own.shopKey],
  );
  const [, hostile] = parse((await reader.post(`${AUDIT}/csv`, {})).text);
  assert.deepEqual(hostile?.slice(1, 5), ["'=cmd", "'=cmd", "'@run", "'@run"]);
});

test("markup in the audit is shown as text", async () => {
  await seedEvents(tenant);
  const { text } = await owner.get(AUDIT);
  assert.ok(!text.includes("<script>alert"));
  assert.match(text, /&lt;script&gt;alert/u);
  assert.match(text, /Olga &lt;i&gt;/u);
});

test("an invalid day is reported at its field, and so is an invented cursor or name", async () => {
  const { status, text } = await owner.get(`${AUDIT}?from=yesterday`);
  assert.equal(status, 400);
  assert.match(text, /The first day must be a day written YYYY-MM-DD/u);
  assert.match(text, /value="yesterday"/u);
  for (const query of ["?cursor=x", "?who=%00", "?who=%27", "?action=a%20b", "?cursor=MjAyNi0wMQ"]) {
    assert.equal((await owner.get(AUDIT + query)).status, 400, query);
  }
  assert.equal((await owner.get(`${AUDIT}?whom=x`)).status, 400);
});

test("another workspace's events are in no page and no CSV", async () => {
  const other = await createTenant(service.database);
  await service.database.query(
    "insert into audit_event (shop_key, actor, action, detail) values ($1, 'operator', 'watch.add', $2)",
    [other.shopKey, { key: "CANARY" }],
  );
  const page = await owner.get(`${AUDIT}?who=operator`);
  const csv = await owner.post(`${AUDIT}/csv`, {});
  assert.ok(!page.text.includes("CANARY") && !csv.text.includes("CANARY"));
});

test("a change shows the previous values", async () => {
  const { keys } = service;
  const { database } = service.installation;
  const own = await createTenant(service.database);
  const workspace = await requireWorkspace(database, own.shopDomain);
  const caller = { database, keys, workspace, actor: OPERATOR, now: new Date() };
  const event = { slug: "sale", label: "Sale", starts_on: "2026-01-01", ends_on: "2026-01-02" };
  await runAction(addSaleEvent, caller, textInput(event));
  await runAction(addSaleEvent, caller, textInput({ ...event, label: "Big sale" }));
  await runAction(removeSaleEvent, caller, textInput({ slug: "sale" }));
  const plan = `plan-${own.shopKey}`;
  await runAction(setPlan, caller, textInput({ plan, daily_quota: "10" }));
  const wanted = textInput({ name: "Agent", scopes: "read:alerts" });
  const { result: made } = await runAction(createToken, caller, wanted);
  const { result: rotated } = await runAction(rotateToken, caller, textInput({ token_id: made.token_id }));
  const { rows } = await service.database.query<{ action: string; before: Record<string, unknown> | null }>(
    `select action, before from (
       select happened_at, action, before from audit_event where shop_key = $1
        union all select happened_at, action, before from identity_event where detail ->> 'plan' = $2) a
      order by happened_at, action`,
    [own.shopKey, plan],
  );
  assert.deepEqual(
    rows.map(({ action, before: earlier }) => [
      action,
      earlier?.["label"] ?? earlier?.["daily_quota"] ?? earlier?.["name"] ?? null,
    ]),
    [
      ["sale_event.add", null],
      ["sale_event.add", "Sale"],
      ["sale_event.remove", "Big sale"],
      ["plan.set", 1_000_000],
      ["token.create", null],
      ["token.rotate", "Agent"],
    ],
  );
  const stored = await service.database.query(
    `select detail::text || coalesce(before::text, '') as text from audit_event
      union all select detail::text || coalesce(before::text, '') from identity_event`,
  );
  const everything = stored.rows.map((row) => (row as { text: string }).text).join("\n");
  for (const secret of [made.token, rotated.token].map((token) => token.reveal().split("_").at(-1) ?? "")) {
    assert.ok(!everything.includes(secret));
  }
});

const skip = isCitus() && "a Citus explains what a node does without the values";

test("a page reads the index by workspace and time backwards", { skip }, async () => {
  const own = await createTenant(service.database);
  await service.database.query(
    `insert into audit_event (shop_key, happened_at, actor, action, detail)
     select $1, now() - n * interval '1 minute', 'operator', 'import', '{}' from generate_series(1, 500) n`,
    [own.shopKey],
  );
  // A small share of all events: the index by time alone would read mostly those of other workspaces.
  const other = await createTenant(service.database);
  await service.database.query(
    `insert into audit_event (shop_key, happened_at, actor, action, detail)
     select $1, now() - n * interval '8 seconds', 'operator', 'import', '{}' from generate_series(1, 20000) n`,
    [other.shopKey],
  );
  await service.database.query("analyze audit_event");
  const text = STATEMENTS.get("list_audit")?.text ?? "";
  const since = new Date(Date.now() - 2 * DAY_MS);
  const values = [
    own.shopKey,
    null,
    null,
    since,
    "infinity",
    "infinity",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
    51,
  ];
  const { rows } = await service.database.query<{ "QUERY PLAN": string }>(`explain analyze ${text}`, values);
  const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
  assert.match(plan, /Index Scan Backward using audit_event_of_shop on audit_event a .*rows=5\d[ .]/u, plan);
});
