import { randomUUID } from "node:crypto";
import { SCOPES } from "../../contract/endpoint.ts";
import type { Scope } from "../../contract/endpoint.ts";
import { AlreadyMade, issueToken } from "../../control/token.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import type { Action, Outcome } from "../action.ts";
import { definePage } from "../page.ts";
import type { PageCall } from "../page.ts";
import { filledIn, refusal, textField } from "../views/form.ts";
import { issuedView } from "../views/settings/token-issued.ts";
import { endpointsOf, SCOPE_WORDS } from "../views/settings/token-words.ts";

const PATH = "/settings/tokens/new";
const ACTION = "token.create";

/** What the form offers as an expiry, in its order; "date" takes the field beside it. */
const EXPIRIES = [
  ["30d", "30 days"],
  ["90d", "90 days"],
  ["365d", "365 days"],
  ["date", "on a day of your choice"],
  ["never", "never"],
] as const;
const DEFAULT_EXPIRY = "90d";

/** The form that makes a token. */
export const newToken = definePage<null>({
  name: "token-new",
  path: PATH,
  right: ACTION,
  link: null,
  takes: [],
  data: () => Promise.resolve(null),
  view: (_data, call) => ({
    title: "Make a token",
    body: html`<p><a href="${call.href("/settings/tokens")}">Tokens</a></p>
      <h1>Make a token</h1>
      ${refusal(call, ACTION)}
      <form method="post" action="${call.href(PATH)}">
        ${requestKeyField(call, ACTION)}
        ${textField(call, ACTION, { name: "name", label: "Name", hint: "What uses it, such as “weekly report”. 1 to 100 characters." })}
        <fieldset>
          <legend>It may read</legend>
          ${SCOPES.map((scope) => scopeBox(scope, call))}
        </fieldset>
        <fieldset>
          <legend>It expires</legend>
          ${EXPIRIES.map(([value, text]) => expiryBox(value, text, call))}
          ${textField(call, ACTION, { name: "expires_on", label: "Day", type: "date", isRequired: false, hint: "For “on a day of your choice”: it ends as this day begins, in UTC." })}
        </fieldset>
        <button>Make the token</button>
      </form>`,
  }),
});

export const tokenCreate: Action = {
  name: ACTION,
  path: PATH,
  right: ACTION,
  page: newToken,
  perform: async (call) => {
    const { form } = call;
    const { database, actor, workspace, keys, now } = await call.acting();
    const scopes = form.getAll("scope");
    const request = {
      name: form.get("name") ?? "",
      scopes: scopes.join(","),
      expires: expiryOf(form),
      requestKey: form.get("request_key") ?? "",
      now,
    };
    return onceMade(call, async () => {
      const { token } = await issueToken(database, actor, workspace, keys.tokenPepper, request);
      return { view: issuedView(call, { token, name: request.name.trim(), scopes }) };
    });
  },
};

/** Names this form: sent twice it makes one token. A refused form keeps its name. */
export function requestKeyField(call: PageCall, action: string): Html {
  return html`<input
    type="hidden"
    name="request_key"
    value="${filledIn(call, action, "request_key", randomUUID())}"
  />`;
}

/** A form that has made its token before leads to that token. */
export async function onceMade(call: PageCall, make: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await make();
  } catch (error) {
    if (!(error instanceof AlreadyMade)) throw error;
    const href = call.href(`/settings/tokens/${error.tokenId}`);
    return {
      href,
      done: "This form has already made this token, and no second one. A token is shown only once.",
    };
  }
}

function expiryOf(form: URLSearchParams): string | undefined {
  const expiry = form.get("expiry") ?? "";
  if (expiry === "never") return undefined;
  return expiry === "date" ? (form.get("expires_on") ?? "") : expiry;
}

function scopeBox(scope: Scope, { refusedForm, entitlements }: PageCall): Html {
  const isChosen = refusedForm?.values.getAll("scope").includes(scope) === true;
  const endpoints = endpointsOf(scope);
  const missing = endpoints
    .flatMap((endpoint) => endpoint.entitlements)
    .find((entitlement) => !entitlements.includes(entitlement));
  return html`<p>
    <label class="check"
      ><input type="checkbox" name="scope" value="${scope}" ${isChosen && html` checked=""`} />
      ${SCOPE_WORDS[scope]}</label
    >
    <small
      ><code>${scope}</code> opens ${endpoints.map(({ path }, index) => html`${index > 0 && ", "}<code>${path}</code>`)}.
      ${missing !== undefined && html`The plan of this workspace does not include it.`}</small
    >
  </p>`;
}

function expiryBox(value: string, text: string, call: PageCall): Html {
  const chosen = filledIn(call, ACTION, "expiry", DEFAULT_EXPIRY);
  return html`<label class="check"
    ><input type="radio" name="expiry" value="${value}" ${value === chosen && html` checked=""`} /> ${text}
    ${value === "never" && html`<small class="tag">works until somebody revokes it</small>`}</label
  >`;
}
