import { OPERATOR } from "./actor.ts";
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openControlDatabase } from "../../tests/support/control.ts";
import type { ControlDatabase } from "../../tests/support/control.ts";
import { setPlan, showPlans } from "./plan.ts";

let control: ControlDatabase;
before(async () => {
  control = await openControlDatabase();
});
after(() => control.stop());

const set = (plan: string, words: Record<string, string>) =>
  setPlan(control.database, OPERATOR, plan, new Map(Object.entries(words)));

test("a new plan is as the default plan where nothing else is stated", async () => {
  const plan = await set("partner", { entitlements: "data_export,api_access" });
  assert.deepEqual(plan, { plan: "partner", entitlements: ["api_access", "data_export"], daily_quota: 1000 });
});

test("changing one setting of a plan leaves the other", async () => {
  await set("changing", { daily_quota: "5", entitlements: "api_access" });
  assert.deepEqual((await set("changing", { daily_quota: "unlimited" })).entitlements, ["api_access"]);
  assert.deepEqual(await set("changing", { entitlements: "" }), {
    plan: "changing",
    entitlements: [],
    daily_quota: null,
  });
  const shown = (await showPlans(control.database)).find((plan) => plan.plan === "changing");
  assert.deepEqual(shown, { plan: "changing", entitlements: [], daily_quota: null });
});

test("a quota of 0 is a quota", async () => {
  assert.equal((await set("nothing", { daily_quota: "0" })).daily_quota, 0);
});

test("a plan's key and settings are checked, in sentences", async () => {
  const refused: [string, Record<string, string>, RegExp][] = [
    ["Big Plan", {}, /^The plan's key must be/u],
    ["x", { daily_quota: "-1" }, /^daily_quota must be a whole number of at least 0, or unlimited\.$/u],
    ["x", { daily_quota: "1e3" }, /^daily_quota must be/u],
    ["x", { entitlements: "everything" }, /^entitlements must be a comma-separated list of api_access/u],
    [
      "x",
      { price: "5" },
      /^"price" is no setting of a plan; its settings are daily_quota and entitlements\.$/u,
    ],
  ];
  for (const [key, words, message] of refused) {
    await assert.rejects(set(key, words), { kind: "invalid", message });
  }
});

test("a plan's change is recorded for the whole installation", async () => {
  await set("recorded", { daily_quota: "7" });
  const event = (await control.audit()).at(-1);
  assert.deepEqual([event?.shop_key, event?.action, event?.detail["plan"]], [0, "plan.set", "recorded"]);
});
