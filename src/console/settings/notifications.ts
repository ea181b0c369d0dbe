import {
  addEndpoint,
  pauseNow,
  removeEndpoint,
  resumeNow,
  rotateEndpoint,
  showEndpoints,
  testEndpoint,
} from "../../control/notify.ts";
import type { AddedEndpoint, NotifyTools, ShownEndpoint } from "../../control/notify.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import type { Action, ActionCall, Outcome } from "../action.ts";
import { definePage } from "../page.ts";
import type { PageCall, View } from "../page.ts";
import { codeToCopy } from "../views/code.ts";
import { actionForm, refusal } from "../views/form.ts";
import { endpointForm } from "../views/settings/endpoint-form.ts";
import { endpointFacts } from "../views/settings/endpoint-words.ts";

type Data = { endpoints: ShownEndpoint[]; hasMail: boolean; now: Date };

const PATH = "/settings/notifications";
const TITLE = "Notifications";
const ADD = "notify.add";
const ROTATE = "notify.rotate";
/** The actions of one endpoint whose forms are a button. */
const OF_ONE = ["notify.test", "notify.pause", "notify.resume", "notify.remove"] as const;

/** Where the alerts of the workspace are sent. */
export const notifications = definePage<Data>({
  name: "notifications",
  path: PATH,
  right: "notify.read",
  link: TITLE,
  takes: [],
  about: async (call) => {
    const endpoints = await showEndpoints(await call.acting());
    const paused = endpoints.filter((endpoint) => endpoint.paused_at !== null).length;
    if (endpoints.length === 0) return "Alerts are sent nowhere yet; programs read them from the API.";
    return `Alerts are sent to ${endpoints.length} ${endpoints.length === 1 ? "place" : "places"}${paused === 0 ? "" : `, ${paused} of them paused`}.`;
  },
  data: async (call) => {
    const acting = await call.acting();
    return { endpoints: await showEndpoints(acting), hasMail: acting.push.smtp !== null, now: acting.now };
  },
  view: ({ endpoints, hasMail, now }, call) => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1>
      <p class="lead">
        Alerts can be sent to programs, to a chat and by e-mail, each in the order of the feed. A delivery that fails is
        repeated for a day; then the endpoint is paused, and owners and admins are told.
      </p>
      ${[ROTATE, ...OF_ONE].map((action) => refusal(call, action))}
      ${endpoints.length === 0 ? html`<p class="banner">Alerts are sent nowhere yet.</p>` : endpoints.map((endpoint) => part(endpoint, call, now))}
      ${endpointForm(call, { action: ADD, path: PATH, hasMail })}`,
  }),
});

function part(endpoint: ShownEndpoint, call: PageCall, now: Date): Html {
  const { endpoint_id: id, name, kind, paused_at: pausedAt } = endpoint;
  const button = (word: string, path: string, look: "quiet" | "danger" = "quiet"): Html =>
    actionForm(call, { path: `${PATH}/${path}`, button: `${word} ${name}`, look, kept: { id } });
  return html`<section>
    <h2>${name}</h2>
    ${endpointFacts(endpoint, now)}
    <div class="actions">
      ${button("Test", "test")} ${pausedAt === null ? button("Pause", "pause") : button("Resume", "resume")}
      ${button("Remove", "remove", "danger")}
    </div>
    ${kind === "webhook" && rotateForm(call, endpoint)}
  </section>`;
}

const OVERLAPS = [
  ["24h", "24 hours"],
  ["0h", "not at all"],
  ["1h", "1 hour"],
  ["7d", "7 days"],
] as const;

function rotateForm(call: PageCall, { endpoint_id: id, name }: ShownEndpoint): Html {
  const overlap = html`<p class="field">
    <label
      >How long messages to ${name} are signed with the old one, too
      <select name="overlap">
        ${OVERLAPS.map(([value, text]) => html`<option value="${value}">${text}</option>`)}
      </select></label
    >
  </p>`;
  return html`<details>
    <summary>Replace the signing secret of ${name}</summary>
    ${actionForm(call, { path: `${PATH}/rotate`, button: `Make a new secret for ${name}`, kept: { id } }, [overlap])}
  </details>`;
}

const DONE: Readonly<
  Record<(typeof OF_ONE)[number], (call: ActionCall, tools: NotifyTools) => Promise<string>>
> = {
  "notify.test": async ({ form }, tools) => {
    const { name, answer } = await testEndpoint(tools, form.get("id") ?? "");
    return `The test message to ${name} is delivered. ${answer}`;
  },
  "notify.pause": async ({ form }, tools) => {
    const { name } = await pauseNow(tools, form.get("id") ?? "");
    return `${name} is paused: what it misses is sent once it is resumed.`;
  },
  "notify.resume": async ({ form }, tools) => {
    const { name } = await resumeNow(tools, form.get("id") ?? "");
    return `${name} is resumed: what it missed is sent now, in order.`;
  },
  "notify.remove": async ({ form }, tools) => {
    const { name } = await removeEndpoint(tools, form.get("id") ?? "");
    return `${name} is removed: nothing is sent there any more.`;
  },
};

export const notificationsActions: readonly Action[] = [
  {
    name: ADD,
    path: PATH,
    right: ADD,
    page: notifications,
    perform: async (call) => {
      const { form } = call;
      const added = await addEndpoint(await call.acting(), {
        kind: form.get("kind") ?? "",
        name: form.get("name") ?? "",
        address: form.get("address") ?? "",
        severities: form.getAll("severity").join(","),
        categories: form.getAll("category").join(","),
        digestHour: form.get("digest_hour") ?? "",
        requestKey: form.get("request_key") ?? "",
      });
      return outcomeOf(call, added, `Alerts are sent to ${added.name} from now on.`);
    },
  },
  {
    name: ROTATE,
    path: `${PATH}/rotate`,
    right: ROTATE,
    page: notifications,
    perform: async (call) => {
      const { form } = call;
      const request = { endpointId: form.get("id") ?? "", overlap: form.get("overlap") ?? "" };
      return outcomeOf(call, await rotateEndpoint(await call.acting(), request), "");
    },
  },
  ...OF_ONE.map((name): Action => ({
    name,
    path: `${PATH}/${name.slice("notify.".length)}`,
    right: name,
    page: notifications,
    perform: async (call) => ({ href: call.href(PATH), done: await DONE[name](call, await call.acting()) }),
  })),
];

function outcomeOf(call: PageCall, { name, secret }: AddedEndpoint, done: string): Outcome {
  return secret === null ? { href: call.href(PATH), done } : { view: secretView(call, name, secret) };
}

function secretView({ href }: PageCall, name: string, secret: string): View {
  return {
    title: "The signing secret",
    isSecret: true,
    body: html`<h1>The signing secret of ${name}</h1>
      <p class="banner" role="status">
        It is shown this once: copy it now, and give it to the receiver, which checks with it that a message is from here.
      </p>
      ${codeToCopy("secret", secret)}
      <p>
        Messages are signed as the <a href="https://www.standardwebhooks.com/">Standard Webhooks</a> specification says;
        <a href="/docs/alerts">how to check one</a>.
      </p>
      <form method="get" action="${href(PATH)}">
        <button>I have stored it</button>
      </form>`,
  };
}
