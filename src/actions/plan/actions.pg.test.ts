import assert from "node:assert/strict";
import { test } from "node:test";
import { openControlDatabase } from "../../../tests/support/control.ts";
import { openTestKeys } from "../../../tests/support/secret.ts";
import { OPERATOR } from "../actor.ts";
import { readList, runAction, type ActionCaller } from "../action.ts";
import { textInput } from "../field.ts";
import { planList, setPlan } from "./actions.ts";
import { countLockWaits } from "../../../tests/support/locks.ts";
import { before, use } from "../../../tests/support/use.ts";
import type { Connection, Database } from "../../store/database.ts";

type Work = (connection: Connection) => Promise<unknown>;

const control = use(openControlDatabase);
let caller: ActionCaller;
before(async () => {
  const { database } = control;
  caller = { database, keys: await openTestKeys(database), actor: OPERATOR, now: new Date() };
});

const set = async (plan: string, settings: Record<string, string>) =>
  (await runAction(setPlan, caller, textInput({ plan, ...settings }))).result;

test("a new plan takes unstated values from the default plan", async () => {
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
  const shown = (await readList(planList, caller)).find((plan) => plan.plan === "changing");
  assert.deepEqual(shown, { plan: "changing", entitlements: [], daily_quota: null });
});

test("of two changes at the same time, each leaves what the other has set", async () => {
  await set("raced", { daily_quota: "5", entitlements: "api_access" });
  let second: Promise<unknown> | undefined;
  await control.database.transaction(async (connection) => {
    const held = { ...control.database, transaction: async (work: Work) => work(connection) } as Database;
    await runAction(setPlan, { ...caller, database: held }, textInput({ plan: "raced", daily_quota: "7" }));
    second = set("raced", { entitlements: "api_access,data_export" });
    while ((await countLockWaits(control.pool)) === 0);
  });
  assert.deepEqual(await second, {
    plan: "raced",
    entitlements: ["api_access", "data_export"],
    daily_quota: 7,
  });
});

test("a quota of 0 is a quota", async () => {
  assert.equal((await set("nothing", { daily_quota: "0" })).daily_quota, 0);
});

test("a plan's change is recorded for the whole installation", async () => {
  await set("recorded", { daily_quota: "7" });
  const event = (await control.audit()).at(-1);
  assert.deepEqual([event?.shop_key, event?.action, event?.detail["plan"]], [0, "plan.set", "recorded"]);
});
