import { randomUUID } from "node:crypto";
import { buttonFor, drawField, formFor, formOf, questionOf } from "../../console/action-form.ts";
import { isoInstant } from "../../console/format.ts";
import { definePage, type ActionCall, type FormOutcome, type PageCall } from "../../console/page.ts";
import { codeToCopy, fact, facts } from "../../console/views/blocks.ts";
import { filledIn, problemOf, refusal, selectField } from "../../console/views/form.ts";
import { html, type Html } from "../../lib/html.ts";
import type { EndpointRow } from "../../store/queries/alert-delivery.ts";
import { readList, type Done, type ShownSecret } from "../action.ts";
import { undoableSince } from "../refusal.ts";
import {
  addEndpoint,
  CATEGORIES,
  ENDPOINT_ACTIONS,
  endpointList,
  KIND_TEXTS,
  pauseEndpoint,
  removeEndpoint,
  restoreEndpoint,
  resumeEndpoint,
  rotateEndpoint,
  SEVERITIES,
  testEndpoint,
} from "./actions.ts";
import { listRemovedEndpoints, type RemovedEndpointRow } from "./queries.ts";

type Data = { endpoints: EndpointRow[]; removed: RemovedEndpointRow[]; hasMail: boolean; now: Date };

const PATH = "/settings/notifications";
const TITLE = "Delivery";
/** The actions on one endpoint. */
const OF_ONE = ENDPOINT_ACTIONS.filter(({ name }) => name !== addEndpoint.name);

/** Where the alerts of the workspace are sent. */
export const notificationsPage = definePage<Data>({
  name: "notifications",
  path: PATH,
  right: endpointList,
  link: TITLE,
  about: async (call) => {
    const endpoints = await readList(endpointList, await call.caller());
    const paused = endpoints.filter((endpoint) => endpoint.paused_at !== null).length;
    if (endpoints.length === 0) return "No alert endpoints yet; programs read alerts from the API.";
    return `Alerts are sent to ${endpoints.length} ${endpoints.length === 1 ? "endpoint" : "endpoints"}${paused === 0 ? "" : `, ${paused} of them paused`}.`;
  },
  data: async (call) => {
    const caller = await call.caller();
    const endpoints = await readList(endpointList, caller);
    const { database, workspace, now } = caller;
    const removed = await listRemovedEndpoints(database, workspace.shop_key, undoableSince(now));
    return { endpoints, removed, hasMail: caller.push.smtp !== null, now };
  },
  view: ({ endpoints, removed, hasMail, now }, call) => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1>
      <p class="lead">
        Alerts can be sent to programs${hasMail ? ", to a chat and by e-mail" : " and to a chat"}, each in the order of the
        feed. A failed delivery is retried for a day; then the endpoint is paused, and owners and admins get a notice.
      </p>
      ${OF_ONE.map(({ name }) => refusal(call, name))}
      ${endpoints.length === 0 ? html`<p class="banner">No alert endpoints yet.</p>` : endpoints.map((endpoint) => part(endpoint, call, now))}
      ${removed.map(
        ({ endpoint_id: id, name, removed_at: at }) =>
          html`<section>
            <p>${name} was removed on ${isoInstant(at)}. For 24 hours this can be undone.</p>
            ${buttonFor(call, restoreEndpoint, { button: `${restoreEndpoint.title} of ${name}`, kept: { endpoint: id }, variant: "quiet" })}
          </section>`,
      )}
      <h2>${addEndpoint.title}</h2>
      ${!hasMail && html`<p class="note">This service sends no e-mail: its operator has not set it up.</p>`}
      ${addForm(call, hasMail)}`,
  }),
  forms: [
    formOf(addEndpoint, { follow: showSecret }),
    formOf(rotateEndpoint, { path: `${PATH}/rotate`, follow: showSecret }),
    formOf(testEndpoint, { path: `${PATH}/test` }),
    formOf(pauseEndpoint, { path: `${PATH}/pause` }),
    formOf(resumeEndpoint, { path: `${PATH}/resume` }),
    formOf(removeEndpoint, { path: `${PATH}/remove` }),
    formOf(restoreEndpoint, { path: `${PATH}/restore` }),
  ],
});

function showSecret(
  { result: { name }, done, secret }: Done<{ name: string; secret: ShownSecret | null }>,
  { href }: ActionCall,
): FormOutcome {
  if (secret === undefined) return { href: href(PATH), done };
  return {
    view: {
      title: "The signing secret",
      body: html`<h1>The signing secret of ${name}</h1>
        <p class="banner" role="status">
          It is shown only once: copy it now and give it to the receiver, which uses it to verify messages.
        </p>
        ${codeToCopy("secret", secret.reveal())}
        <p>
          Messages are signed according to the <a href="https://www.standardwebhooks.com/">Standard Webhooks</a> specification;
          <a href="/docs/alerts">how to check one</a>.
        </p>
        <form method="get" action="${href(PATH)}">
          <button>I have stored it</button>
        </form>`,
    },
  };
}

/** Every box is ticked until a form was refused. */
function addForm(call: PageCall, hasMail: boolean): Html | null {
  const { name, input } = addEndpoint;
  const hours = Array.from(
    { length: 24 },
    (_, hour) => [String(hour), `daily at ${hourText(hour)}`] as const,
  );
  return formFor(call, addEndpoint, {
    kept: { request_key: filledIn(call, name, "request_key", randomUUID()) },
    values: { severities: SEVERITIES, categories: CATEGORIES.map(([category]) => category) },
    drawn: {
      kind: selectField(call, name, {
        name: "kind",
        label: input.kind.label,
        value: "webhook",
        options: (input.kind.choices ?? []).filter(([kind]) => kind !== "email" || hasMail),
      }),
      ...(!hasMail && {
        address: drawField(call, name, "address", { ...input.address, hint: "https://…" }, undefined),
      }),
      digest_hour: selectField(call, name, {
        name: "digest_hour",
        label: input.digest_hour.label,
        hint: "A digest is one message; a webhook receives each alert separately.",
        options: [["", "at once"], ...hours],
      }),
    },
  });
}

function part(endpoint: EndpointRow, call: PageCall, now: Date): Html {
  const { endpoint_id: id, name, kind, paused_at: pausedAt } = endpoint;
  const button = (
    action: Parameters<typeof buttonFor>[1],
    words: string,
    form: Parameters<typeof buttonFor>[2] = { variant: "quiet" },
  ): Html => buttonFor(call, action, { ...form, button: `${words} ${name}`, kept: { endpoint: id } });
  const question = questionOf(call, removeEndpoint, { endpoint: name });
  return html`<section>
    <h2>${name}</h2>
    ${endpointFacts(endpoint, now)}
    <div class="actions">
      ${button(testEndpoint, "Test")}
      ${pausedAt === null ? button(pauseEndpoint, "Pause") : button(resumeEndpoint, "Resume")}
    </div>
    ${kind === "webhook" && rotateForm(call, endpoint)}
    ${button(removeEndpoint, "Remove", { variant: "danger", question })}
  </section>`;
}

const OVERLAPS = [
  ["24h", "24 hours"],
  ["0h", "not at all"],
  ["1h", "1 hour"],
  ["7d", "7 days"],
] as const;

function rotateForm(call: PageCall, { endpoint_id: id, name }: EndpointRow): Html {
  const words = `${rotateEndpoint.title} of ${name}`;
  const isRefused = call.refusedForm?.values.get("endpoint") === id;
  const wrong = isRefused ? problemOf(call, rotateEndpoint.name, "overlap") : null;
  const overlap = html`<p class="field">
    <label
      >How long messages to ${name} are also signed with the old secret
      <select name="overlap" ${wrong !== null && html` aria-invalid="true" aria-describedby="overlap-wrong"`}>
        ${OVERLAPS.map(([value, text]) => html`<option value="${value}">${text}</option>`)}
      </select></label
    >
    ${wrong !== null && html`<small id="overlap-wrong" class="wrong">${wrong}</small>`}
  </p>`;
  return html`<details ${wrong !== null && html` open=""`}>
    <summary>${words}</summary>
    ${buttonFor(call, rotateEndpoint, { button: words, kept: { endpoint: id } }, [overlap])}
  </details>`;
}

const PAUSE_TEXTS: Readonly<Record<string, string>> = {
  person: "Paused by a member",
  failing: "Paused: every attempt failed for a day",
  gone: "Paused: the receiver accepts no more messages",
  refused: "Paused: the mail server refused the recipient",
};

function hourText(hour: number): string {
  return `${String(hour).padStart(2, "0")}:00 UTC`;
}

/** Its address, alerts and delivery state. */
function endpointFacts(endpoint: EndpointRow, now: Date): Html {
  const { kind, shown_address: address, severities, categories, digest_hour: hour } = endpoint;
  const { last_delivered_at: deliveredAt, last_problem: problem, previous_until: previousUntil } = endpoint;
  const texts: Readonly<Record<string, string>> = Object.fromEntries(CATEGORIES);
  const listed = categories?.map((category) => texts[category] ?? category).join(", ");
  const isOverlapping = previousUntil !== null && previousUntil > now;
  return facts([
    fact(KIND_TEXTS[kind], address),
    fact("Receives", `${severities.join(", ")}: ${listed ?? "all alerts"}`),
    fact("When", hour === null ? "at once" : `daily at ${hourText(hour)}`),
    fact("State", stateText(endpoint, now)),
    fact("Last delivery", deliveredAt === null ? "none yet" : isoInstant(deliveredAt)),
    problem !== null && fact("Last problem", problem),
    isOverlapping && fact("Also signed with the old secret", `until ${isoInstant(previousUntil)}`),
  ]);
}

function stateText(endpoint: EndpointRow, now: Date): string {
  const { paused_at: pausedAt, pause_reason: reason, due_at: dueAt, failures } = endpoint;
  if (pausedAt !== null) return `${PAUSE_TEXTS[reason ?? "person"]}, since ${isoInstant(pausedAt)}`;
  if (dueAt === null) return "Waiting for the next alert";
  const next = dueAt <= now ? "now" : isoInstant(dueAt);
  if (failures === 0) return `Next delivery: ${next}`;
  return `${failures} ${failures === 1 ? "attempt" : "attempts"} failed; next attempt: ${next}`;
}
