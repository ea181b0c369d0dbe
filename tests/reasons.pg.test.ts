import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { before, test } from "node:test";
import type { ReportFit } from "../src/contract/report-sections.ts";
import type { OrderLineRow, ReturnRow } from "./oracle/store.ts";
import { actAs, auditOf, type Member } from "./support/scene.ts";
import { runCommand } from "./support/command.ts";
import { createStore, type StoreTenant } from "./support/import-store.ts";
import { serviceEnvironment } from "./support/service.ts";
import { service } from "./support/shared-service.ts";
import { makeFolder } from "./support/folder.ts";

/** M22: the groups of reasons, on the page and by command, and that a report follows them. */

const PATH = "/settings/reasons";
const SIZES = ["S", "M", "L"];
let tenant: StoreTenant;
let admin: Member;

/** 30 orders of each size; 20 of M come back too tight, and one of each size for a reason without a phrase. */
before(async () => {
  const order_lines: OrderLineRow[] = [];
  const returns: ReturnRow[] = [];
  for (const size of SIZES) {
    for (let index = 0; index < 30; index += 1) {
      const order_id = `${size}${index}`;
      order_lines.push({
        order_id,
        line_id: "1",
        ordered_at: "2026-01-05T12:00:00Z",
        variant_id: size,
        units: 1,
      });
      const reason = index === 29 ? "__proto__" : size === "M" && index < 20 ? "Viel ZU ENG!" : null;
      if (reason === null) continue;
      const return_id = `r-${order_id}`;
      returns.push({
        return_id,
        order_id,
        line_id: "1",
        status: "CLOSED",
        units: 1,
        closed_at: "2026-01-09T00:00:00Z",
        reason,
      });
    }
  }
  const products = [{ product_id: "p1", title: "Coat" }];
  const variants = SIZES.map((size) => ({
    variant_id: size,
    product_id: "p1",
    option1_name: "Size",
    option1_value: size,
  }));
  const files = { products, variants, order_lines, returns };
  tenant = await createStore(service, { asOf: "2026-06-01T00:00:00Z", files });
  admin = await actAs(service, tenant, "admin");
});

async function fit(): Promise<ReportFit> {
  const params = {
    start_month: "2026-01",
    end_month: "2026-01",
    reportSection: "fit",
    product_gid: "gid://import/Product/p1",
  };
  return (await tenant.ask("/api/v1/report", params)).json().data["fit"] as ReportFit;
}

const unitsOfM = ({ sizes }: ReportFit) => sizes.map((size) => [size.too_small_units, size.other_units]);

/** The reasons on the page, each with its chosen group and whether it is marked as unconfirmed. */
function listedIn(page: string): (string | undefined)[][] {
  const rows = [...page.matchAll(/<th scope="row">([^<]*)<\/th>(.*?)<\/tr>/gsu)];
  return rows.map(([, reason, rest = ""]) => [
    reason,
    /value="[^"]*=(\w+)"\s+selected=""/u.exec(rest)?.[1],
    /<small>([^<]*)</u.exec(rest)?.[1],
  ]);
}

test("M22: a proposed group counts after an admin has saved it: the next answer uses it, and the audit has it", async () => {
  const earlier = await fit();
  assert.deepEqual([earlier.sentence, unitsOfM(earlier)[1]], [null, [0, 21]]);
  assert.deepEqual(
    earlier.unmapped_reasons.map(({ reason }) => reason),
    ["Viel ZU ENG!", "__proto__"],
  );
  const first = await admin.get(PATH);
  assert.deepEqual(listedIn(first.text), [
    ["Viel ZU ENG!", "too_small", "proposed"],
    ["__proto__", "other", "in no group"],
  ]);
  const viewer = await actAs(service, tenant, "viewer");
  assert.match((await viewer.get(PATH)).text, /Too small\s*<small>proposed/u);

  const saved = await admin.post(PATH, { reasons: "Viel ZU ENG!=too_small\n__proto__=damaged" });
  assert.deepEqual([saved.status, saved.location], [303, PATH]);
  const later = await fit();
  assert.deepEqual([later.sentence, unitsOfM(later)[1]], ["Runs small in M.", [20, 0]]);
  assert.deepEqual(
    [later.sizes[1]?.damaged_units, later.unmapped_reasons, later.sizes[0]?.other_units],
    [1, [], 0],
  );
  assert.deepEqual(listedIn((await admin.get(PATH)).text), [
    ["Viel ZU ENG!", "too_small", undefined],
    ["__proto__", "damaged", undefined],
  ]);
  const detail = JSON.parse('{"viel zu eng!":"too_small","__proto__":"damaged"}') as unknown;
  const earlierGroups = JSON.parse('{"viel zu eng!":"","__proto__":""}') as unknown;
  assert.deepEqual(await auditOf(service, tenant), [
    { action: "reasons.set", detail, before: earlierGroups },
  ]);
});

test("an invalid reason or group is refused at its field, and changes nothing", async () => {
  const count = (await auditOf(service, tenant)).length;
  const refused: readonly (readonly [given: string, sentence: RegExp])[] = [
    ["", /must have 1 to 1000 entries/u],
    ["too tight", /must be reasons with their groups, such as came after the party=late/u],
    ["too tight=tight", /must be one of too_small, too_large, /u],
    ["too tight=__proto__", /must be one of too_small, too_large, /u],
    ["=late", /must be text of 1 to 120 characters/u],
    [`${"x".repeat(121)}=late`, /must be text of 1 to 120 characters/u],
    ["a\u0007=late", /must be text of 1 to 120 characters/u],
    [Array.from({ length: 1001 }, (_, index) => `r${index}=late`).join("\n"), /must have 1 to 1000 entries/u],
  ];
  for (const [reasons, sentence] of refused) {
    const { status, text } = await admin.post(PATH, { reasons });
    assert.equal(status, 400, reasons.slice(0, 30));
    assert.match(text, new RegExp(`class="wrong">Groups of reasons ${sentence.source}`, "u"));
  }
  const full = Array.from({ length: 999 }, (_, index) => `r${index}=late`).join("\n");
  assert.match((await admin.post(PATH, { reasons: full })).text, /At most 1000 reasons can have a group/u);
  assert.equal((await auditOf(service, tenant)).length, count);
});

test("the command saves the same and removes a reason from its group, and an export has the saved groups", async () => {
  const run = async (...words: string[]) =>
    runCommand(["workspace", ...words], serviceEnvironment(service.databaseUrl));
  const workspace = ["--workspace", tenant.shopDomain];
  const saved = await run(
    "reasons",
    ...workspace,
    "--reason",
    "Viel zu eng!=",
    "--reason",
    "a=b=late",
    "--json",
  );
  assert.deepEqual(
    [saved.code, JSON.parse(saved.stdout)],
    [0, JSON.parse('{"__proto__":"damaged","a=b":"late"}')],
    saved.stderr,
  );
  assert.equal((await fit()).sentence, null);
  const folder = makeFolder();
  const exported = await run("export", tenant.shopDomain, folder);
  assert.equal(exported.code, 0, exported.stderr);
  const readme = await readFile(join(folder, "README.txt"), "utf8");
  assert.match(
    readme,
    /workspace reasons --workspace \S+ --reason 'a=b=late' --reason '__proto__=damaged'\n/u,
  );
  assert.match(await readFile(join(folder, "settings.json"), "utf8"), /"a=b": "late"/u);
  const refused = await run("reasons", ...workspace, "--reason", "x=y");
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /--reason must be one of too_small/u);
});
