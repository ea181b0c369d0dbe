import { billingEndText } from "../../alerts/billing-end.ts";
import { formFor, formOf } from "../../console/action-form.ts";
import { count, isoInstant } from "../../console/format.ts";
import { definePage, type PageCall } from "../../console/page.ts";
import { fact, rows, tableOf } from "../../console/views/blocks.ts";
import { selectField } from "../../console/views/form.ts";
import type { Entitlement } from "../../contract/endpoint.ts";
import { html, type Html } from "../../lib/html.ts";
import { findBilling, type Purchase } from "../../store/queries/purchase.ts";
import { findPlanRequest, type PlanRow } from "./queries.ts";
import { readList } from "../action.ts";
import { mayDo } from "../right.ts";
import { cancelPlanRequest, planList, requestPlan } from "./actions.ts";

export const PLAN_PATH = "/settings/plan";
const TITLE = "Plan";

const ENTITLEMENT_TEXTS: Readonly<Record<Entitlement, string>> = {
  api_access: "programs and AI agents can use the API",
  data_export: "reports and tables can be downloaded",
  full_leaderboards: "rankings show every SKU",
};

/** The features of the workspace's plan, those of other plans, and the owner's request form. */
export const planPage = definePage<Data>({
  name: "plan",
  path: PLAN_PATH,
  right: planList,
  link: TITLE,
  about: async (call) => {
    const { planKey, own, request } = await load(call);
    const quota =
      own === undefined ? "which no longer exists" : `API requests: ${quotaText(own.daily_quota)}`;
    return `${planKey}, ${quota}.${request === null ? "" : ` ${request.plan} is requested.`}`;
  },
  data: load,
  view: (data, call) => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1>
      <p class="lead">
        What this workspace may do, and how many API requests a day it may make. Viewing pages does not count.
        ${data.purchase === null ? "The operator of this service sets the plan" : "The plan follows the shop's subscription"};
        a change applies from the next request.
      </p>
      ${requestBanner(data, call)} ${ownPart(data)} ${othersPart(data)} ${requestPart(data, call)}`,
  }),
  forms: [formOf(requestPlan), formOf(cancelPlanRequest, { path: `${PLAN_PATH}/withdraw` })],
});

type Data = Awaited<ReturnType<typeof load>>;

async function load(call: PageCall) {
  const caller = await call.caller();
  const { database, workspace } = caller;
  const [plans, request, billing] = await Promise.all([
    readList(planList, caller),
    findPlanRequest(database, workspace.shop_key),
    findBilling(database, workspace.shop_key),
  ]);
  return {
    planKey: workspace.plan,
    // undefined: the workspace's plan no longer exists, and every request is refused.
    own: plans.find((each) => each.plan === workspace.plan),
    others: plans.filter((each) => each.plan !== workspace.plan),
    cardSize: workspace.visible_card_size,
    request,
    purchase: billing?.purchase ?? null,
  };
}

/** Above every page while billing is going to end. */
export function billingBanner(endsAt: Date | null, planHref: string): Html | null {
  if (endsAt === null) return null;
  return html`<p class="banner warn">${billingEndText(endsAt)} <a href="${planHref}">Plan</a></p>`;
}

function requestBanner({ request }: Data, call: PageCall): Html | null {
  if (request === null) return null;
  return html`<div class="banner">
    <p>
      <strong>${request.plan}</strong> was requested on ${isoInstant(request.asked_at)}:
      “${request.reason}” The plan stays as it is until the operator of this service sets another.
    </p>
    ${formFor(call, cancelPlanRequest, { variant: "quiet" })}
  </div>`;
}

function ownPart({ planKey, own, cardSize, purchase }: Data): Html {
  if (own === undefined) {
    return html`<p class="banner warn">
      The plan ${planKey} no longer exists, so every API request is refused. The operator of this service can
      set another.
    </p>`;
  }
  return rows([
    fact("Plan", own.plan),
    purchase !== null && fact("Subscription", purchase.name, subscriptionNote(purchase)),
    fact("API requests", quotaText(own.daily_quota)),
    {
      name: "Includes",
      value: html`<ul>
        ${includedIn(own, cardSize).map((text) => html`<li>${text}</li>`)}
      </ul>`,
    },
  ]);
}

function subscriptionNote({ plan: mapped, is_active: isActive }: Purchase): string {
  if (!isActive) return "It is no longer active in Shopify.";
  return `Billed by Shopify. ${mapped === null ? "It sets billing, not the plan." : `It includes the plan ${mapped}.`}`;
}

/** A plan's features in words; every plan shows `cardSize` rows of a ranking. */
function includedIn({ entitlements }: PlanRow, cardSize: number): string[] {
  const isFull = entitlements.includes("full_leaderboards");
  return [
    "the pages of this console",
    ...entitlements.map(entitlementText),
    ...(isFull ? [] : [`rankings show the first ${count(cardSize) as string} SKUs`]),
  ];
}

function othersPart({ own, others }: Data): Html | null {
  if (others.length === 0) return null;
  return html`<h2>Other plans</h2>
    ${tableOf("What other plans would add, and what they would leave out", others, [
      ["Plan", ({ plan }) => plan],
      ["API requests", ({ daily_quota: quota }) => quotaText(quota)],
      ["Adds", (each) => advantages(each, own)],
      ["Leaves out", (each) => advantages(own, each)],
    ])}`;
}

/** Features of one plan that another lacks; undefined: the other has none. */
function advantages(one: PlanRow | undefined, other: PlanRow | undefined): Html {
  if (one === undefined) return html`nothing`;
  const texts = one.entitlements
    .filter((name) => other?.entitlements.includes(name) !== true)
    .map(entitlementText);
  const more = (one.daily_quota ?? Infinity) - (other === undefined ? 0 : (other.daily_quota ?? Infinity));
  if (more > 0) {
    texts.push(
      more === Infinity ? "API requests without a limit" : `${count(more) as string} API requests a day`,
    );
  }
  return texts.length === 0 ? html`nothing` : html`${texts.join("; ")}`;
}

function entitlementText(name: string): string {
  return ENTITLEMENT_TEXTS[name as Entitlement] ?? name;
}

/** 1000 → "1,000 a day". */
function quotaText(dailyQuota: number | null): string {
  if (dailyQuota === null) return "without a limit";
  return dailyQuota === 0 ? "none" : `${count(dailyQuota) as string} a day`;
}

function requestPart({ others, request }: Data, call: PageCall): Html {
  if (!mayDo(call.role, requestPlan)) {
    return html`<p class="note">An owner of this workspace can request another plan.</p>`;
  }
  if (others.length === 0) return html`<p class="note">This installation has no other plan.</p>`;
  const form = formFor(call, requestPlan, {
    values: { reason: request?.reason ?? "" },
    drawn: {
      plan: selectField(call, requestPlan.name, {
        name: "plan",
        label: requestPlan.input.plan.label,
        value: request?.plan ?? others.at(-1)?.plan ?? "",
        options: others.map((each) => [each.plan, each.plan] as const),
      }),
    },
  });
  return html`<h2>Request another plan</h2>
    ${form} ${request !== null && html`<p class="note">It replaces the current request.</p>`}`;
}
