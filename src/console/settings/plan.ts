import { askForPlan, showPlanRequest, withdrawPlanRequest } from "../../control/plan-request.ts";
import { showPlans } from "../../control/plan.ts";
import { hasRight } from "../../control/rights.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import type { Action } from "../action.ts";
import { instant } from "../format.ts";
import { definePage } from "../page.ts";
import type { PageCall } from "../page.ts";
import { rows } from "../views/facts.ts";
import { actionForm, refusal, selectField, textField } from "../views/form.ts";
import { advantagesOf, entitlementTexts, quotaText } from "../views/settings/plan.ts";
import { dataTable } from "../views/table.ts";

const PATH = "/settings/plan";
const TITLE = "Plan";
const ASK = "plan.ask";
const WITHDRAW = "plan.withdraw";

type Plan = Awaited<ReturnType<typeof showPlans>>[number];
type Data = {
  planKey: string;
  /** undefined = the workspace's plan is gone, and every request is refused. */
  own: Plan | undefined;
  others: readonly Plan[];
  cardSize: number;
  request: Awaited<ReturnType<typeof showPlanRequest>>;
};

/** What the workspace may do, what other plans would add, and how its owner asks for one. */
export const plan = definePage<Data>({
  name: "plan",
  path: PATH,
  right: "settings.read",
  link: TITLE,
  takes: [],
  about: async (call) => {
    const { planKey, own, request } = await load(call);
    const quota =
      own === undefined ? "which no longer exists" : `API requests: ${quotaText(own.daily_quota)}`;
    return `${planKey}, ${quota}.${request === null ? "" : ` ${request.plan} is asked for.`}`;
  },
  data: load,
  view: (data, call) => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1>
      <p class="lead">
        What this workspace may do, and how many API requests a day it may make. Pages do not count towards
        them. Whoever runs this installation sets the plan; it counts from the next request on.
      </p>
      ${requestBanner(data, call)} ${ownPart(data)} ${othersPart(data)} ${askPart(data, call)}`,
  }),
});

export const planActions: readonly Action[] = [
  {
    name: ASK,
    path: PATH,
    right: ASK,
    page: plan,
    perform: async ({ form, href, acting }) => {
      const { database, actor, workspace, now } = await acting();
      const asked = { plan: form.get("plan") ?? "", reason: form.get("reason") ?? "" };
      const { changed } = await askForPlan(database, actor, workspace, asked, now);
      return {
        href: href(PATH),
        done: changed
          ? `${asked.plan} is asked for. Whoever runs this installation sees it; the plan stays as it is until they set another.`
          : `${asked.plan} was asked for already.`,
      };
    },
  },
  {
    name: WITHDRAW,
    path: `${PATH}/withdraw`,
    right: WITHDRAW,
    page: plan,
    perform: async ({ href, acting }) => {
      const { database, actor, workspace } = await acting();
      const { withdrawn } = await withdrawPlanRequest(database, actor, workspace);
      return {
        href: href(PATH),
        done: withdrawn ? "No other plan is asked for any more." : "No other plan was asked for.",
      };
    },
  },
];

async function load(call: PageCall): Promise<Data> {
  const { database, workspace } = await call.acting();
  const [plans, request] = await Promise.all([showPlans(database), showPlanRequest(database, workspace)]);
  return {
    planKey: workspace.plan,
    own: plans.find((each) => each.plan === workspace.plan),
    others: plans.filter((each) => each.plan !== workspace.plan),
    cardSize: workspace.visible_card_size,
    request,
  };
}

function requestBanner({ request }: Data, call: PageCall): Html | null {
  if (request === null) return null;
  return html`<div class="banner">
    <p>
      <strong>${request.plan}</strong> was asked for on ${instant(request.asked_at.toISOString())}:
      “${request.reason}” The plan stays as it is until whoever runs this installation sets another.
    </p>
    ${
      hasRight(call.role, WITHDRAW) &&
      actionForm(call, { path: `${PATH}/withdraw`, button: "Do not ask any more", look: "quiet" })
    }
  </div>`;
}

function ownPart({ planKey, own, cardSize }: Data): Html {
  if (own === undefined) {
    return html`<p class="banner warn">
      The plan ${planKey} no longer exists, so every API request is refused. Whoever runs this installation
      can set another.
    </p>`;
  }
  const texts = entitlementTexts(own, cardSize);
  return rows([
    { name: "Plan", value: own.plan },
    { name: "API requests", value: quotaText(own.daily_quota) },
    {
      name: "It includes",
      value: html`<ul>
        ${texts.map((text) => html`<li>${text}</li>`)}
      </ul>`,
    },
  ]);
}

function othersPart({ own, others }: Data): Html | null {
  if (others.length === 0) return null;
  return html`<h2>Other plans</h2>
    ${dataTable(
      "What other plans would add, and what they would leave out",
      [{ text: "Plan" }, { text: "API requests" }, { text: "It adds" }, { text: "It leaves out" }],
      others.map((each) => [
        html`${each.plan}`,
        html`${quotaText(each.daily_quota)}`,
        listed(advantagesOf(each, own)),
        listed(advantagesOf(own, each)),
      ]),
    )}`;
}

function listed(texts: readonly string[]): Html {
  return texts.length === 0 ? html`nothing` : html`${texts.join("; ")}`;
}

function askPart({ others, request }: Data, call: PageCall): Html {
  if (!hasRight(call.role, ASK)) {
    return html`<p class="note">An owner of this workspace can ask for another plan.</p>`;
  }
  if (others.length === 0) return html`<p class="note">This installation has no other plan.</p>`;
  return html`<h2>Ask for another plan</h2>
    ${refusal(call, ASK)}
    ${actionForm(call, { path: PATH, button: "Ask for it" }, [
      selectField(call, ASK, {
        name: "plan",
        label: "Plan",
        value: request?.plan ?? others.at(-1)?.plan ?? "",
        options: others.map((each) => [each.plan, each.plan] as const),
      }),
      textField(call, ASK, {
        name: "reason",
        label: "Why",
        hint: "A sentence for whoever runs this installation, up to 300 characters.",
        value: request?.reason ?? "",
      }),
    ])}
    ${request !== null && html`<p class="note">It takes the place of what is asked for now.</p>`}`;
}
