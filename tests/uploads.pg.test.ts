import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { DuckDBInstance } from "@duckdb/node-api";
import { parse } from "csv-parse/sync";
import { csv } from "./support/import-workspace.ts";
import { makeFolder } from "./support/folder.ts";
import { openRaw, type RawConnection } from "./support/raw-http.ts";
import { actAs } from "./support/scene.ts";
import { service } from "./support/shared-service.ts";
import { PART_BYTES, expectOk, idOf, partsOf, uploadClient } from "./support/upload.ts";
import type { Sender } from "./support/upload.ts";
import {
  SMALL_FOLDER,
  dataOf,
  importByCommand,
  importedBy,
  openUploadWorkspace,
} from "./support/upload-workspace.ts";
import type { UploadWorkspace } from "./support/upload-workspace.ts";
import { messageOf } from "./support/webhooks.ts";
import { DEFAULT_RETENTION } from "./support/worker.ts";
import { keepInOrder } from "../src/worker/upkeep.ts";

/** A folder of CSV or Parquet files uploaded by browser: its parts, its limits, and its import by a worker. */
let shop: UploadWorkspace;

async function fresh(): Promise<UploadWorkspace> {
  shop = await openUploadWorkspace(service);
  return shop;
}

async function refused(answering: Promise<Response>, status: number, sentence: RegExp): Promise<void> {
  const answer = await answering;
  assert.equal(answer.status, status);
  assert.match(await messageOf(answer), sentence);
}

async function countParts(): Promise<number> {
  const { shopKey } = shop.tenant;
  const parts = await service.database.query("select 1 from import_part where shop_key = $1", [shopKey]);
  return parts.rowCount ?? 0;
}

async function pageText(id = ""): Promise<string> {
  const page = await shop.client.page(id);
  assert.equal(page.status, 200);
  return (await page.text()).replaceAll(/\s+/gu, " ");
}

test("an upload gives the same rows as the command, and its person is the actor of the import", async () => {
  const { client, tenant } = await fresh();
  const zipped = { ...SMALL_FOLDER, "order_lines.csv.gz": gzipSync(String(SMALL_FOLDER["order_lines.csv"])) };
  delete (zipped as Record<string, unknown>)["order_lines.csv"];
  const id = await client.send(zipped, "2026-06-30");
  assert.equal(await importedBy(service, shop, id), "imported");

  const byCommand = await openUploadWorkspace(service);
  await importByCommand(service, byCommand, SMALL_FOLDER, new Date("2026-07-01T00:00:00Z"));
  assert.deepEqual(await dataOf(service, tenant), await dataOf(service, byCommand.tenant));
  const { rows } = await service.database.query<{ data_as_of: Date; readiness: string }>(
    "select data_as_of, readiness from workspace where shop_key = $1",
    [tenant.shopKey],
  );
  assert.deepEqual(rows, [{ data_as_of: new Date("2026-07-01T00:00:00Z"), readiness: "ready" }]);

  const audited = await service.database.query<{ action: string; name: string; origin: string }>(
    `select a.action, u.name, a.origin from audit_event a join console_user u on a.actor = 'user:' || u.user_id
      where a.shop_key = $1 order by a.happened_at`,
    [tenant.shopKey],
  );
  const who = { name: `Owner of ${tenant.shopDomain}`, origin: "127.0.0.1" };
  assert.deepEqual(
    audited.rows,
    ["import.start", "import.request", "import"].map((action) => ({ action, ...who })),
  );
  const page = await pageText(id);
  assert.match(page, /The files are imported, complete up to 1 Jul 2026, 00:00 UTC/u);
  assert.match(page, /<dt>Orders<\/dt> <dd>3<\/dd>/u);
  assert.equal(await countParts(), 0, "the parts are gone");
});

test("a Parquet file is imported, and the page counts the amounts that were rounded", async () => {
  const path = join(makeFolder(), "order_lines.parquet");
  const duckdb = await (await DuckDBInstance.create(":memory:")).connect();
  await duckdb.run(
    `copy (select 'o' || i as order_id, 'l1' as line_id, timestamptz '2026-01-05 10:00:00Z' as ordered_at, 1 as units,
                  10.005 as unit_price from range(2) t(i)) to '${path}' (format parquet)`,
  );
  duckdb.closeSync();
  const { client } = await fresh();
  const id = await client.send({ "order_lines.parquet": await readFile(path) }, "2026-06-30");
  assert.equal(await importedBy(service, shop, id), "imported");
  assert.match(
    await pageText(id),
    /order_lines\.parquet: amounts had more decimals than their currency and were rounded, halves away from zero \(2\)/u,
  );
});

test("a part may be sent twice and in any order; with other bytes, another size or beyond the end it is refused", async () => {
  const { client } = await fresh();
  const body = randomBytes(2 * PART_BYTES + 10);
  const [first, second, third] = partsOf(body) as [Buffer, Buffer, Buffer];
  const id = await idOf(await client.start([["order_lines.csv", body.length]]));
  await expectOk(client.part(id, "order_lines.csv", 2, third));
  await expectOk(client.part(id, "order_lines.csv", 0, first));
  await expectOk(client.part(id, "order_lines.csv", 0, first));
  await refused(client.part(id, "order_lines.csv", 0, second), 409, /already stored with other content/u);
  await refused(client.part(id, "order_lines.csv", 1, third), 400, /has 4194304 bytes; 10 were sent/u);
  await refused(
    client.part(id, "order_lines.csv", 3, third),
    400,
    /has the parts 0 to 2; "3" is not one of them/u,
  );
  for (const number of ["-1", "1.5", "x", "99999999999"]) {
    await refused(client.part(id, "order_lines.csv", number, first), 400, /is not one of them/u);
  }
  const { files } = (await (await client.parts(id)).json()) as { files: { parts: (string | null)[] }[] };
  assert.deepEqual(
    files[0]?.parts.map((digest) => digest?.length ?? null),
    [64, null, 64],
  );
  const early = await client.request(id);
  assert.equal(early.status, 409);
  assert.match(await early.text(), /order_lines\.csv is incomplete: 1 of its parts are missing/u);
  await expectOk(client.part(id, "order_lines.csv", 1, second));
  assert.equal((await client.request(id)).status, 303);
  assert.match(await pageText(id), />Queued for import</u);
  await refused(client.part(id, "order_lines.csv", 0, first), 409, /waits for its import/u);
  const tooLong = await client.part(id, "order_lines.csv", 0, randomBytes(PART_BYTES + 1));
  assert.equal(tooLong.status, 413);
});

test("file names are from a fixed list, in every request", async () => {
  const { client } = await fresh();
  for (const name of [
    "../order_lines.csv",
    "/etc/passwd",
    "order_lines.csv/../x.csv",
    "customers.csv",
    "ORDER_LINES.csv",
    "order_lines.csv\u0000",
    "refused-rows.csv",
    "",
  ]) {
    await refused(
      client.start([[name, 10]]),
      400,
      /is not a file of an import: its files are named products\.csv/u,
    );
  }
  const id = await idOf(await client.start([["order_lines.csv", 4]]));
  const bytes = Buffer.from("abcd");
  for (const name of [
    "../order_lines.csv",
    "returns.csv",
    "order_lines.csv.gz",
    "%2e%2e",
    "refused-rows.csv",
  ]) {
    await refused(client.part(id, name, 0, bytes), 400, /is not a file of this upload/u);
  }
  await refused(client.replace(id, "../x.csv", 4), 400, /is not a file of an import/u);
});

test("no file, an empty file, a repeated file, too many bytes, a future day and an invalid size are refused", async () => {
  const { client } = await fresh();
  await refused(client.start([]), 400, /Choose at least one file/u);
  await refused(client.start([["returns.csv", 0]]), 400, /returns\.csv is empty/u);
  for (const size of ["-5", "1e9", "12.5", ""]) {
    await refused(client.start([["returns.csv", size]]), 400, /must be a whole number of bytes/u);
  }
  const twice = client.start([
    ["returns.csv", 5],
    ["returns.csv.gz", 5],
  ]);
  await refused(twice, 400, /there must be only one of them/u);
  const half = 1024 ** 3;
  const tooLarge = client.start([
    ["order_lines.csv", half],
    ["refunds.csv", half],
    ["returns.csv", 1],
  ]);
  await refused(tooLarge, 400, /an upload takes at most 2 GB/u);
  await refused(
    client.start([["returns.csv", 5]], "2100-01-01"),
    400,
    /The last day, 2100-01-01, is in the future/u,
  );
  await refused(client.start([["returns.csv", 5]], "yesterday"), 400, /must be a day written YYYY-MM-DD/u);
  const id = await idOf(await client.start([["order_lines.csv", 2 * half]]));
  await refused(client.replace(id, "returns.csv", 1), 400, /an upload takes at most 2 GB/u);
});

test("of many concurrent uploads of a workspace one begins; a second one can begin when the first is canceled", async () => {
  const { client } = await fresh();
  const answers = await Promise.all(Array.from({ length: 8 }, () => client.start([["returns.csv", 5]])));
  const statuses = answers.map(({ status }) => status).toSorted((one, other) => one - other);
  assert.deepEqual(statuses, [200, 409, 409, 409, 409, 409, 409, 409]);
  assert.match(await pageText(), /An upload that .* began on .* is under way: receiving files/u);
  const id = await idOf(answers.find(({ status }) => status === 200) as Response);
  await expectOk(client.part(id, "returns.csv", 0, Buffer.from("abcde")));
  const canceled = await client.cancel(id);
  assert.equal(canceled.status, 303);
  assert.equal(await countParts(), 0);
  await refused(client.part(id, "returns.csv", 0, Buffer.from("abcde")), 409, /was canceled/u);
  await idOf(await client.start([["returns.csv", 5]]));
});

test("after 24 hours an upload accepts no parts, and the next one can begin", async () => {
  const { client, tenant } = await fresh();
  const id = await idOf(await client.start([["returns.csv", 5]]));
  await expectOk(client.part(id, "returns.csv", 0, Buffer.from("abcde")));
  await service.database.query(
    "update import_upload set expires_at = now() - interval '1 second' where shop_key = $1",
    [tenant.shopKey],
  );
  await refused(client.part(id, "returns.csv", 0, Buffer.from("abcde")), 409, /has expired/u);
  assert.match(await (await client.request(id)).text(), /This upload has expired/u);
  await idOf(await client.start([["returns.csv", 5]]));
  assert.match(await pageText(id), /This upload has expired/u);
});

test("an upload of another workspace and a missing one give the same bytes, on the page and for every action", async () => {
  const other = await fresh();
  const foreign = await idOf(await other.client.start([["returns.csv", 5]]));
  const { client } = await fresh();
  const none = randomUUID();
  const ask = async (id: string) => {
    const answers = await Promise.all([
      client.page(id),
      client.parts(id),
      client.part(id, "returns.csv", 0, Buffer.from("abcde")),
      client.replace(id, "returns.csv", 5),
      client.request(id),
      client.cancel(id),
      client.refusedRows(id),
    ]);
    return Promise.all(answers.map(async (answer) => [answer.status, await answer.text()]));
  };
  const [missing, malformed, foreignAnswers] = [await ask(none), await ask("'; drop"), await ask(foreign)];
  assert.deepEqual(new Set(missing.map(([status]) => status)), new Set([404]));
  assert.deepEqual(foreignAnswers, missing);
  assert.deepEqual(malformed, missing);
});

test("other sites, viewers and strangers cannot upload", async () => {
  const { client, sender, tenant } = await fresh();
  const id = await idOf(await client.start([["returns.csv", 5]]));
  const bytes = Buffer.from("abcde");
  for (const headers of [
    { origin: "https://other.example" },
    { origin: "null" },
    { "sec-fetch-site": "cross-site" },
  ]) {
    const foreign = uploadClient(sender, headers);
    assert.equal((await foreign.part(id, "returns.csv", 0, bytes)).status, 403);
    assert.equal((await foreign.start([["returns.csv", 5]])).status, 403);
    assert.equal((await foreign.cancel(id)).status, 403);
  }
  const stranger = await uploadClient({ ...sender, cookie: "" }).part(id, "returns.csv", 0, bytes);
  assert.deepEqual([stranger.status, stranger.headers.get("location")], [303, "/sign-in"]);
  await service.database.query("update workspace_member set role = 'viewer' where shop_key = $1", [
    tenant.shopKey,
  ]);
  await refused(client.part(id, "returns.csv", 0, bytes), 403, /This needs the role admin; yours is viewer/u);
  await refused(client.start([["returns.csv", 5]]), 403, /This needs the role admin/u);
  for (const answer of [
    await client.page(),
    await client.page(id),
    await client.request(id),
    await client.refusedRows(id),
  ]) {
    assert.equal(answer.status, 403);
  }
  assert.equal(await countParts(), 0);
});

test("a workspace with a connected store is refused before anything is sent", async () => {
  const { client, tenant } = await fresh();
  await service.database.query(
    `insert into data_source (shop_key, source, kind, is_connection, sealed_credentials)
     values ($1, 'shopify', 'store', true, '\\x00')`,
    [tenant.shopKey],
  );
  await refused(client.start([["order_lines.csv", 5]]), 409, /gets its orders and products from shopify/u);
  assert.match(await pageText(), /only return_labels\.csv and sale_events\.csv can be imported/u);
  const id = await idOf(await client.start([["sale_events.csv", 5]]));
  await refused(client.replace(id, "returns.csv", 5), 409, /gets its orders and products from shopify/u);
});

test("a server accepts two parts of a workspace at once, and the client must send others again", async () => {
  const { client } = await fresh();
  const body = randomBytes(6 * PART_BYTES);
  const id = await idOf(await client.start([["order_lines.csv", body.length]]));
  const answers = await Promise.all(
    partsOf(body).map((bytes, number) => client.part(id, "order_lines.csv", number, bytes)),
  );
  const busy = answers.filter(({ status }) => status === 429);
  assert.ok(busy.length > 0, "some are asked for again");
  assert.equal(busy[0]?.headers.get("retry-after"), "1");
  assert.equal(answers.filter(({ status }) => status === 200).length, 6 - busy.length);
});

/** The head of a part of an upload. */
function headOf({ address, cookie, shopDomain }: Sender, path: string): string {
  const head = [
    `POST /w/${shopDomain}/settings/${path} HTTP/1.1`,
    `Host: ${new URL(address).host}`,
    `Origin: ${address}`,
    "Sec-Fetch-Site: same-origin",
    `Cookie: ${cookie}`,
    "Content-Type: application/octet-stream",
    `Content-Length: ${PART_BYTES}`,
  ];
  return `${head.join("\r\n")}\r\n\r\n`;
}

/** Starts parts whose bytes never arrive; returns the refusal of each, null for one that is still open. */
async function hold(sender: Sender, path: string): Promise<(number | null)[]> {
  const held = await Promise.all(Array.from({ length: 12 }, () => openRaw(sender.address)));
  opened.push(...held);
  return Promise.all(
    held.map(({ send, answer }) => {
      send(headOf(sender, path));
      return Promise.race([answer().then(({ status }) => status), sleep(2000, null)]);
    }),
  );
}

const opened: RawConnection[] = [];

afterEach(() => {
  for (const { close } of opened.splice(0)) close();
});

test("parts of unauthorized senders do not block others, and no workspace blocks another", async () => {
  const { client } = await fresh();
  const id = await idOf(await client.start([["returns.csv", 5]]));
  const other = await fresh();
  const place = `imports/${randomUUID()}/parts/returns.csv/0`;
  assert.deepEqual(await hold(other.sender, "plan/withdraw"), Array<number>(12).fill(400));
  assert.deepEqual(await hold(other.sender, "nothing"), Array<number>(12).fill(400));
  const asOwner = await hold(other.sender, place);
  assert.equal(asOwner.filter((status) => status === null).length, 2);
  assert.equal(asOwner.filter((status) => status === 429).length, 10);
  await expectOk(client.part(id, "returns.csv", 0, Buffer.from("abcde")));
  const { shopKey } = other.tenant;
  await service.database.query("update workspace_member set role = 'viewer' where shop_key = $1", [shopKey]);
  assert.deepEqual(await hold(other.sender, place), Array<number>(12).fill(403));
  await expectOk(client.part(id, "returns.csv", 0, Buffer.from("abcde")));
});

test("a member of many workspaces may send two parts at once in all", async () => {
  const shops = await Promise.all(Array.from({ length: 6 }, () => openUploadWorkspace(service)));
  const place = `imports/${randomUUID()}/parts/returns.csv/0`;
  const statuses: (number | null)[] = [];
  for (const { tenant, sender } of shops) {
    const { cookie } = await actAs(service, tenant, "owner", "Member of six workspaces");
    statuses.push(...(await hold({ ...sender, cookie }, place)));
  }
  assert.equal(statuses.filter((status) => status === null).length, 2);
  assert.equal(statuses.filter((status) => status === 429).length, 70);
  const { client } = await fresh();
  const id = await idOf(await client.start([["returns.csv", 5]]));
  await expectOk(client.part(id, "returns.csv", 0, Buffer.from("abcde")));
});

test("a part whose connection ends before its sender is known does not count", async () => {
  const { client, sender } = await fresh();
  const id = await idOf(await client.start([["returns.csv", 5]]));
  for (let count = 0; count < 24; count += 1) {
    const { socket } = await openRaw(sender.address);
    await new Promise<void>((done) => {
      socket.once("close", () => done());
      socket.write(headOf(sender, `imports/${id}/parts/returns.csv/0`), () => socket.destroy());
    });
  }
  await sleep(500);
  await expectOk(client.part(id, "returns.csv", 0, Buffer.from("abcde")));
});

test("files without rows are refused", async () => {
  const { client } = await fresh();
  const id = await client.send({ "returns.csv": csv("return_id,order_id,line_id,status,units") });
  assert.equal(await importedBy(service, shop, id), "refused");
  assert.match(await pageText(id), /The files hold no rows, only headers\./u);
});

/** The result of an upload with invalid rows: nothing changes until a person decides. */
const LINES = "order_id,line_id,ordered_at,units";
const GOOD = "o1,l1,2026-01-05T10:00:00Z,2";
const BAD = "o2,l1,2026-01-05T10:00:00Z,1.5";

async function refusedRows({ client }: UploadWorkspace, id: string): Promise<Record<string, string>[]> {
  const answer = await client.refusedRows(id);
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get("content-disposition") ?? "", /filename="refused-rows\.csv"/u);
  return parse(await answer.text(), { columns: true });
}

test("refused rows are reported with file, line, column and what is allowed; nothing is imported until they are left out", async () => {
  const own = await fresh();
  const id = await own.client.send({
    "order_lines.csv": csv(LINES, GOOD, BAD),
    "returns.csv": csv("return_id,order_id,line_id,status,units", "r1,o9,l1,OPEN,1"),
  });
  assert.equal(await importedBy(service, own, id), "refused");
  const empty = await dataOf(service, (await openUploadWorkspace(service)).tenant);
  assert.deepEqual(await dataOf(service, own.tenant), empty);
  const page = await pageText(id);
  assert.match(page, /<strong>Nothing was imported\.<\/strong> 2 rows cannot be used/u);
  assert.match(
    page,
    /<th scope="row">order_lines\.csv<\/th><td class="number">3<\/td><td class="text">units<\/td><td class="text">is not a whole number: &quot;1\.5&quot;<\/td><td class="text">a whole number from 0 to 10000000<\/td>/u,
  );
  const rows = await refusedRows(own, id);
  assert.deepEqual(
    rows.map(({ file, line, column, allowed }) => [file, line, column, allowed]),
    [
      ["order_lines.csv", "3", "units", "a whole number from 0 to 10000000"],
      ["returns.csv", "2", "line_id", "a line of order_lines.csv, or of an earlier import"],
    ],
  );
  assert.match(page, /Import without these 2 rows/u);
  const guide = await readFile(join(import.meta.dirname, "../docs/guides/your-data.md"), "utf8");
  const [, button = "none"] = /\*\*(Import without[^*]+)\*\*/u.exec(guide) ?? [];
  assert.ok(page.includes(button.replace("…", "2")), button);
  assert.equal((await own.client.request(id, { skip_invalid: "yes" })).status, 303);
  assert.equal(await importedBy(service, own, id), "imported");
  assert.match(await pageText(id), /Left out: 2 rows/u);
  assert.equal((await refusedRows(own, id)).length, 2);
  const { rows: lines } = await service.database.query("select 1 from order_line where shop_key = $1", [
    own.tenant.shopKey,
  ]);
  assert.equal(lines.length, 1);
});

test("a corrected file replaces only that file, and the upload is imported", async () => {
  const own = await fresh();
  const { client } = own;
  const id = await client.send({ ...SMALL_FOLDER, "order_lines.csv": csv("order_id,units", "o1,2") });
  assert.equal(await importedBy(service, own, id), "refused");
  assert.match(
    await pageText(id),
    /order_lines\.csv: line 1: the required columns line_id, ordered_at are missing/u,
  );
  const corrected = Buffer.from(gzipSync(String(SMALL_FOLDER["order_lines.csv"])));
  await expectOk(client.replace(id, "order_lines.csv.gz", corrected.length));
  assert.match(
    await (await client.request(id)).text(),
    /order_lines\.csv\.gz is incomplete: 1 of its parts/u,
  );
  await expectOk(client.part(id, "order_lines.csv.gz", 0, corrected));
  assert.equal((await client.request(id)).status, 303);
  assert.equal(await importedBy(service, own, id), "imported");

  const atOnce = await openUploadWorkspace(service);
  const whole = await atOnce.client.send(SMALL_FOLDER);
  assert.equal(await importedBy(service, atOnce, whole), "imported");
  assert.deepEqual(await dataOf(service, own.tenant), await dataOf(service, atOnce.tenant));
});

test("of very many refused rows the page shows 200, hostile ones as text, and the download has all", async () => {
  const own = await fresh();
  const hostile = 'o1,l1,2026-01-05T10:00:00Z,"<script>alert(1)</script><img src=x onerror=y>"';
  const rows = [hostile, ...Array<string>(1499).fill(BAD)];
  const id = await own.client.send({ "order_lines.csv": csv(LINES, ...rows) });
  assert.equal(await importedBy(service, own, id), "refused");
  const page = await pageText(id);
  assert.match(page, /The first 200 of 1,500 rows that cannot be used/u);
  assert.match(page, /Download all of them as CSV/u);
  assert.match(page, /&lt;script&gt;alert\(1\)/u);
  assert.doesNotMatch(page, /<script>alert|<img src=x/u);
  assert.equal((await refusedRows(own, id)).length, 1500);
});

test("upkeep ends expired uploads, deletes their parts, and the uploads after 30 days", async () => {
  const own = await fresh();
  const { shopKey } = own.tenant;
  const id = await own.client.send({ "order_lines.csv": csv(LINES, BAD) });
  assert.equal(await importedBy(service, own, id), "refused");
  const { database } = service.installation;
  const now = Date.now();
  const DAY_MS = 86_400_000;
  const look = async (atMs: number) => {
    const environment = { database, now: () => new Date(atMs), log: console, retention: DEFAULT_RETENTION };
    await keepInOrder(environment, shopKey);
    const { rows } = await service.database.query<{ status: string; parts: number }>(
      `select u.status, (select count(*)::integer from import_part p where p.shop_key = $1 and p.upload_id = u.upload_id) as parts
         from import_upload u where u.shop_key = $1`,
      [shopKey],
    );
    return rows;
  };
  assert.deepEqual(await look(now), [{ status: "refused", parts: 2 }]);
  assert.deepEqual(await look(now + DAY_MS + 60_000), [{ status: "expired", parts: 0 }]);
  assert.deepEqual(await look(now + 32 * DAY_MS), []);
});
