import assert from "node:assert/strict";
import { test } from "node:test";
import { readConfig } from "../src/config.ts";
import { OPERATOR } from "../src/actions/actor.ts";
import { diagnose } from "../src/operations/doctor.ts";
import { requirePlan } from "../src/actions/plan/actions.ts";
import { workspaceList } from "../src/actions/workspace/workspace.ts";
import { wordsOf } from "./support/page-figures.ts";
import { actAs, auditOf } from "./support/scene.ts";
import { runCommand } from "./support/command.ts";
import { TEST_SECRET } from "./support/secret.ts";
import { serviceEnvironment } from "./support/service.ts";
import { service } from "./support/shared-service.ts";
import { createTenant } from "./support/tenants.ts";
import type { Tenant, TenantOptions } from "./support/tenants.ts";
import { readList } from "../src/actions/action.ts";

/** The plan: shown to every member, requested by an owner, set by an operator. */

const PATH = "/settings/plan";
const WHY = "We want the CSV <b>every week</b>.";

async function onPlan(planKey: string, options: TenantOptions = {}): Promise<Tenant> {
  const tenant = await createTenant(service.database, options);
  await service.database.query("update workspace set plan_key = $2 where shop_key = $1", [
    tenant.shopKey,
    planKey,
  ]);
  return tenant;
}

test("the page shows what the plan includes, and what each other plan would add", async () => {
  const tenant = await onPlan("growth");
  const viewer = await actAs(service, tenant, "viewer");
  const { status, text } = await viewer.get(PATH);
  assert.equal(status, 200);
  const words = wordsOf(text);
  assert.match(words, /Plan growth API requests 1,000 a day Includes/u);
  assert.match(words, /programs and AI agents can use the API rankings show the first 10 SKUs/u);
  assert.match(
    words,
    /scale 25,000 a day reports and tables can be downloaded; rankings show every SKU; 24,000 API requests a day nothing/u,
  );
  assert.match(
    words,
    /starter none nothing programs and AI agents can use the API; 1,000 API requests a day/u,
  );
  assert.match(words, /enterprise without a limit .*; API requests without a limit nothing/u);
  assert.match(words, /An owner of this workspace can request another plan\./u);
  assert.doesNotMatch(text, /action="[^"]*settings/u);
});

test("an owner requests a plan, changes the request and withdraws it; the audit has each with the previous values", async () => {
  const tenant = await onPlan("growth");
  const owner = await actAs(service, tenant);
  const asked = await owner.post(PATH, { plan: "scale", reason: WHY });
  assert.deepEqual([asked.status, asked.location], [303, PATH]);
  assert.match(asked.done ?? "", /^Requested the plan scale\./u);
  const page = (await owner.get(PATH)).text;
  assert.match(page, /We want the CSV &lt;b&gt;every week&lt;\/b&gt;\./u);
  assert.match((await owner.post(PATH, { plan: "scale", reason: WHY })).done ?? "", /already requested/u);
  await owner.post(PATH, { plan: "enterprise", reason: "Without a limit." });
  const viewer = await actAs(service, tenant, "viewer");
  assert.match((await viewer.get(PATH)).text, /<strong>enterprise<\/strong> was requested/u);
  assert.match((await viewer.get("/settings")).text, /enterprise is requested/u);
  assert.match(
    (await owner.post(`${PATH}/withdraw`, {})).done ?? "",
    /^Canceled the request for the plan enterprise\.$/u,
  );
  assert.match((await owner.post(`${PATH}/withdraw`, {})).done ?? "", /^There was no plan request\.$/u);
  assert.doesNotMatch((await owner.get(PATH)).text, /was requested/u);
  const [first, second] = [
    { plan: "scale", reason: WHY },
    { plan: "enterprise", reason: "Without a limit." },
  ];
  assert.deepEqual(await auditOf(service, tenant), [
    { action: "plan.ask", detail: first, before: null },
    { action: "plan.ask", detail: second, before: first },
    { action: "plan.withdraw", detail: {}, before: second },
  ]);
});

test("the current plan, an unknown plan and a missing reason are refused at the form, which keeps its values", async () => {
  const tenant = await onPlan("growth");
  const owner = await actAs(service, tenant);
  const own = await owner.post(PATH, { plan: "growth", reason: WHY });
  assert.equal(own.status, 409);
  assert.match(own.text, /role="alert"[^>]*>\s*shop-\d+\.example already has the plan growth\./u);
  assert.match(own.text, /value="We want the CSV &lt;b&gt;/u);
  assert.equal((await owner.post(PATH, { plan: "golden", reason: WHY })).status, 409);
  for (const reason of ["", " ", "x".repeat(301), "two\nlines"]) {
    const { status, text } = await owner.post(PATH, { plan: "scale", reason });
    assert.equal(status, 400, reason);
    assert.match(text, /Reason must be text of 1 to 300 characters/u);
    assert.match(text, /<option value="scale"\s+selected=""/u);
  }
  assert.deepEqual(await auditOf(service, tenant), []);
});

test("operators see a plan request, however many workspaces have problems, and setting a plan closes it", async () => {
  for (let count = 0; count < 21; count += 1)
    await createTenant(service.database, { billingStatus: "inactive" });
  // Only the first twenty requests are shown, and earlier test files have left some.
  await service.database.query("delete from plan_request");
  const tenant = await onPlan("growth");
  const owner = await actAs(service, tenant);
  await owner.post(PATH, { plan: "scale", reason: "We want the CSV." });
  const { database } = service.installation;
  const listed = await readList(workspaceList, { database, actor: OPERATOR, now: new Date() });
  const shown = listed.find((each) => each.shop_domain === tenant.shopDomain);
  assert.deepEqual([shown?.requested_plan, shown?.plan_request_reason], ["scale", "We want the CSV."]);
  const patient = {
    database,
    dataFolder: "/nowhere",
    isEmbedded: false,
    secret: TEST_SECRET,
    operationsAddress: null,
    retention: readConfig({}),
    hasPlans: false,
  };
  const diagnosed = (await diagnose(patient)).workspaces.first.find(
    (each) => each.shop_domain === tenant.shopDomain,
  );
  assert.deepEqual(
    [diagnosed?.requested_plan, diagnosed?.plan_request_reason],
    ["scale", "We want the CSV."],
  );
  const environment = serviceEnvironment(service.databaseUrl);
  const doctor = await runCommand(["doctor"], environment);
  assert.match(
    doctor.stdout,
    new RegExp(`${tenant.shopDomain}: its owner asks for the plan scale: We want the CSV\\.\n`, "u"),
  );
  const command = ["workspace", "set", "--workspace", tenant.shopDomain, "plan=scale", "--json"];
  const set = JSON.parse((await runCommand(command, environment)).stdout) as Record<string, unknown>;
  assert.deepEqual([set["plan"], set["requested_plan"]], ["scale", null]);
  assert.doesNotMatch((await owner.get(PATH)).text, /was requested/u);
  const { rows } = await service.database.query(
    "select detail, before from audit_event where shop_key = $1 and action = 'workspace.set'",
    [tenant.shopKey],
  );
  assert.deepEqual(rows, [
    { detail: { plan: "scale" }, before: { plan: "growth", requested_plan: "scale" } },
  ]);
});

test("with a missing plan and inactive billing the page is served, and says that the plan no longer exists", async () => {
  const tenant = await onPlan("gone", { billingStatus: "inactive" });
  const { status, text } = await (await actAs(service, tenant)).get(PATH);
  assert.equal(status, 200);
  assert.match(text, /The plan gone no longer exists/u);
});

test("the page names the subscription and what it sets, and every page says when billing ends", async () => {
  const tenant = await onPlan("growth");
  const set = (change: string, value: unknown) =>
    service.database.query(`update workspace set ${change} where shop_key = $1`, [tenant.shopKey, value]);
  const bought = { id: "1", name: "Growth <monthly>", plan: "growth", paid_until: null, is_active: true };
  await set("purchase = $2", JSON.stringify(bought));
  const owner = await actAs(service, tenant);
  const { text } = await owner.get(PATH);
  assert.match(text, /Growth &lt;monthly&gt;/u);
  assert.match(text, /Billed by Shopify\. It includes the plan growth\./u);
  assert.match(text, /The plan follows the shop(?:'|&#39;)s subscription;/u);
  assert.doesNotMatch(text, /Billing ends on/u);
  await set("billing_ends_at = $2", "2099-12-03T10:00:00Z");
  for (const path of ["", PATH, "/report"]) {
    const page = (await owner.get(path)).text;
    assert.match(page, /Billing ends on 2099-12-03 10:00 UTC: from then on API requests are refused/u, path);
  }
});

test("a plan of SHOPIFY_PLANS must exist before a worker starts", async () => {
  const { database } = service.installation;
  await requirePlan(database, "growth");
  await assert.rejects(requirePlan(database, "gold", "SHOPIFY_PLANS: "), {
    message: 'SHOPIFY_PLANS: There is no plan "gold"; ./returns plan list shows all plans.',
  });
});
