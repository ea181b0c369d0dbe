import assert from "node:assert/strict";
import { test } from "node:test";
import { openControlDatabase } from "../../../tests/support/control.ts";
import { openTestKeys } from "../../../tests/support/secret.ts";
import { makeWorkspace } from "../../../tests/support/workspace.ts";
import { OPERATOR } from "../actor.ts";
import { putConnection, type SourceKind } from "../../store/queries/data-source.ts";
import type { DirectoryRow } from "../../store/queries/workspace-directory.ts";
import { readList, runAction } from "../action.ts";
import { textInput } from "../field.ts";
import { disconnectSource } from "../sources/actions.ts";
import { createWorkspace } from "./actions.ts";
import { setWorkspace } from "./settings.ts";
import { requireWorkspace, workspaceList } from "./workspace.ts";
import { use } from "../../../tests/support/use.ts";

const control = use(openControlDatabase);

const operator = () => ({ database: control.database, actor: OPERATOR, now: new Date() });

const create = async (input: { domain: string; currency: string; plan?: string; organization?: string }) =>
  (await runAction(createWorkspace, operator(), textInput(input))).result;

const set = async (workspace: DirectoryRow, settings: Record<string, string>) => {
  const caller = { ...operator(), keys: await openTestKeys(control.database), workspace };
  return (await runAction(setWorkspace, caller, textInput(settings))).result;
};

test("a new workspace is installing, paid for, without data and on the default plan", async () => {
  const created = await create({
    domain: "New.Example",
    currency: "gbp",
  });
  assert.match(created.organization_id, /^org_[0-9a-f]{24}$/u);
  assert.match(created.shop_id, /^shop_[0-9a-f]{24}$/u);
  const workspace = await requireWorkspace(control.database, " NEW.example ");
  assert.equal(workspace.shop_domain, "new.example");
  assert.equal(workspace.currency_code, "GBP");
  assert.equal(workspace.plan, "growth");
  assert.equal(workspace.billing, "active");
  assert.equal(workspace.readiness, "installing");
  assert.equal(workspace.data_as_of, null);
  assert.equal(workspace.primary_window_days, 30);
  assert.equal(workspace.min_sold_units, 20);
  assert.equal(workspace.visible_card_size, 10);
});

test("two workspaces may share an organization, not a domain", async () => {
  const request = { currency: "EUR", organization: "org_shared" };
  const first = await create({ ...request, domain: "one.example" });
  const second = await create({ ...request, domain: "two.example" });
  assert.equal(first.organization_id, second.organization_id);
  assert.notEqual(first.shop_id, second.shop_id);
  await assert.rejects(create({ ...request, domain: "ONE.example" }), {
    kind: "impossible",
    message: "There is already a workspace for the domain one.example.",
  });
});

test("two creations of one domain at once make one workspace", async () => {
  const attempts = [1, 2, 3].map(() => create({ domain: "race.example", currency: "EUR" }));
  const outcomes = await Promise.allSettled(attempts);
  assert.equal(outcomes.filter((outcome) => outcome.status === "fulfilled").length, 1);
  const shown = await readList(workspaceList, operator());
  assert.equal(shown.filter((workspace) => workspace.shop_domain === "race.example").length, 1);
});

test("a refused creation leaves no rows, and the domain stays free", async () => {
  const request = { domain: "free.example", currency: "EUR" };
  await assert.rejects(create({ ...request, plan: "golden" }), {
    kind: "impossible",
    message: /no plan "golden"/u,
  });
  await create(request);
});

test("a domain is a host name and a currency one of ISO 4217", async () => {
  for (const domain of [
    "",
    "a b",
    "https://a.example",
    "-a.example",
    "a..example",
    "a_b.example",
    "a.example/",
  ]) {
    await assert.rejects(create({ domain, currency: "EUR" }), { kind: "invalid" }, domain);
  }
  for (const currency of ["", "EU", "EURO", "ZZZ"]) {
    await assert.rejects(create({ domain: "c.example", currency }), { kind: "invalid" }, currency);
  }
  const { shop_domain: domain } = await create({
    domain: "Müller.example",
    currency: "EUR",
  });
  assert.equal(domain, "xn--mller-kva.example");
});

test("readiness follows a connected store, and is the operator's once it is disconnected", async () => {
  const workspace = await makeWorkspace(control.database, "follows.example");
  const { shop_key: shopKey } = workspace;
  const connect = (source: string, kind: SourceKind) =>
    putConnection(control.database, {
      shopKey,
      source,
      kind,
      settings: {},
      sealedCredentials: Buffer.from("x"),
    });
  const reconnect = () => set(workspace, { readiness: "reconnecting", billing: "inactive" });
  await connect("loop", "label_cost");
  assert.equal((await reconnect()).readiness, "reconnecting", "label costs decide nothing");
  await set(workspace, { readiness: "ready", billing: "active" });
  await connect("shopify", "store");
  await assert.rejects(reconnect(), {
    kind: "impossible",
    message:
      "The readiness of follows.example follows its connection to shopify: disconnect it first, or set billing=inactive to stop serving.",
  });
  const { readiness, billing } = await requireWorkspace(control.database, "follows.example");
  assert.deepEqual([readiness, billing], ["ready", "active"]);
  const caller = { ...operator(), keys: await openTestKeys(control.database), workspace };
  await runAction(disconnectSource, caller, textInput({ source: "shopify" }));
  assert.equal((await reconnect()).readiness, "reconnecting");
});

test("settings change together, and each action is recorded with it", async () => {
  const workspace = await makeWorkspace(control.database, "set.example");
  const changed = await set(workspace, {
    plan: "scale",
    billing: "inactive",
    readiness: "backfilling",
    min_sold_units: "0",
    visible_card_size: "3",
  });
  assert.deepEqual(
    [changed.plan, changed.billing, changed.readiness, changed.min_sold_units, changed.visible_card_size],
    ["scale", "inactive", "backfilling", 0, 3],
  );
  assert.equal(changed.data_version, workspace.data_version);
  const audit = (await control.audit()).filter((event) => event.shop_key === workspace.shop_key);
  assert.deepEqual(
    audit.map((event) => [event.actor, event.action]),
    [
      ["operator", "workspace.create"],
      ["operator", "workspace.set"],
    ],
  );
});

test("M4: another primary window raises the data version, because answers change", async () => {
  const workspace = await makeWorkspace(control.database, "window.example");
  const changed = await set(workspace, { primary_window_days: "45" });
  assert.equal(changed.primary_window_days, 45);
  assert.equal(changed.data_version, workspace.data_version + 1);
});

test("one setting that is refused keeps all the others out", async () => {
  const workspace = await makeWorkspace(control.database, "all.example");
  const refused: [Record<string, string>, RegExp][] = [
    [{ primary_window_days: "45", plan: "golden" }, /no plan "golden"/u],
    [
      { billing: "inactive", primary_window_days: "366" },
      /Return window in days must be a whole number from 1 to 365/u,
    ],
    [{ billing: "paid" }, /Billing must be one of active, inactive/u],
    [{ readiness: "done" }, /Readiness must be one of ready, installing, reconnecting, backfilling/u],
    [{ min_sold_units: "-1" }, /Minimum units sold must be a whole number of at least 0/u],
    [{ visible_card_size: "0" }, /Rows of a ranking must be a whole number of at least 1/u],
    [{}, /^Name at least one setting of the workspace; its settings are plan, billing/u],
  ];
  for (const [words, message] of refused) {
    await assert.rejects(set(workspace, words), { message });
  }
  assert.deepEqual(await requireWorkspace(control.database, "all.example"), workspace);
});

test("an unknown domain is a sentence", async () => {
  await assert.rejects(requireWorkspace(control.database, "nobody.example"), {
    kind: "impossible",
    message: /There is no workspace for the domain nobody\.example/u,
  });
});
