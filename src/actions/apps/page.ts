import { APP_SCHEMES, type AppRequest } from "../../access/oauth.ts";
import { buttonFor, drawField, formFor, formOf } from "../../console/action-form.ts";
import { definePage, type ActionCall, type FormOutcome, type PageCall } from "../../console/page.ts";
import { statePage, type StatePage } from "../../console/state-page.ts";
import { fact, facts } from "../../console/views/blocks.ts";
import { refusal } from "../../console/views/form.ts";
import { html, type Html } from "../../lib/html.ts";
import { isLoopbackHost } from "../../lib/networks.ts";
import type { Field } from "../field.ts";
import { mayDo, readSettings } from "../right.ts";
import { connectApp, openRequest, receiverOf, REQUEST_ENDED } from "./actions.ts";

export const CONNECT_PATH = "/settings/tokens/connect";

const DENY = { name: "app.deny", title: "Deny" };

/** Where a person lets an app in to a workspace, or denies it; its request is checked before, at its own address. */
export const connectPage = definePage<AppRequest | null>({
  name: "app-connect",
  path: CONNECT_PATH,
  right: readSettings,
  takes: ["request"],
  data: async (call) => openRequest(await call.caller(), sealedOf(call)),
  view: (asked, call) =>
    asked === null
      ? { title: ENDED.title, body: html`${refusal(call, connectApp.name)} ${ENDED.body}` }
      : {
          title: `Connect ${asked.name}`,
          body: question(asked, call),
          // Chromium holds the policy against every redirect that follows the form, and an app's own address may lead on: to
          // another host of its maker, or to a program.
          formTargets: [...new Set(["https:", "http:", ...APP_SCHEMES, new URL(asked.redirectUri).protocol])],
        },
  forms: [
    formOf(connectApp, { follow: ({ secret }, call) => answer(call, { code: secret?.reveal() ?? "" }) }),
    {
      name: DENY.name,
      path: `${CONNECT_PATH}/deny`,
      right: readSettings,
      perform: (call) => answer(call, { error: "access_denied" }),
    },
  ],
});

/** The request as the page, its form or its refused form has it. */
function sealedOf({ form, refusedForm, query }: PageCall & Partial<ActionCall>): string {
  return (form ?? refusedForm?.values)?.get("request") ?? query["request"] ?? "";
}

/** Leads the browser to the app's own address, now that its person has decided. */
async function answer(call: ActionCall, told: Readonly<Record<string, string>>): Promise<FormOutcome> {
  const asked = openRequest(await call.caller(), sealedOf(call));
  if (asked === null) throw REQUEST_ENDED;
  const target = new URL(asked.answerTo);
  for (const [name, value] of Object.entries(told)) target.searchParams.set(name, value);
  return { leave: target.href };
}

export function cannotConnect(problem: string): StatePage {
  return statePage(
    400,
    "This app cannot connect",
    html`<p role="alert">${problem} Add the connection in the app again; if that does not help, tell its developer.</p>
      <p><a href="/docs/mcp">How apps connect</a></p>`,
  );
}

const ENDED = cannotConnect("Its request has ended.");

function question(asked: AppRequest, call: PageCall): Html {
  const { name, scopes, describedAt, redirectUri } = asked;
  const mayAllow = mayDo(call.role, connectApp);
  const kept = { request: sealedOf(call) };
  const field: Field<unknown> = connectApp.input.scopes;
  const choices = (field.choices ?? []).filter(([each]) => scopes.some((scope) => scope === each));
  const drawn = drawField(call, connectApp.name, "scopes", { ...field, choices }, scopes);
  return html`<h1>Connect “${name}”?</h1>
    <p>
      An app that calls itself “${name}” asks to read data of ${call.shopDomain}. This service has not checked who made
      it: continue only if you have just started this yourself.
    </p>
    ${facts([
      fact("The response goes to", html`<strong>${receiverOf(redirectUri)}</strong>`, placeNote(redirectUri)),
      describedAt !== null && fact("The app's description is at", html`<strong>${describedAt}</strong>`),
    ])}
    ${mayAllow ? TERMS : WHOM_TO_ASK} ${formFor(call, connectApp, { kept, drawn: { scopes: drawn } })}
    ${refusal(call, DENY.name)}
    ${buttonFor(call, DENY, { variant: "quiet", kept, button: mayAllow ? DENY.title : "Go back to the app" })}`;
}

const TERMS = html`<p>
  It cannot change anything. Its requests count towards the workspace's daily quota. Owners and admins see it under Settings,
  Tokens, and can end its access there at any time; it also ends after 30 days without use, after a year, or when you are no
  longer an owner or admin.
</p>`;

const WHOM_TO_ASK = html`<p>
  Only an owner or admin can connect an app. You are a viewer: ask an owner or admin of the workspace to connect it.
</p>`;

function placeNote(redirectUri: string): string | null {
  const { protocol, hostname } = new URL(redirectUri);
  if (isLoopbackHost(hostname)) return "a program on your own computer";
  return protocol === "https:" ? null : "a program installed on your device";
}
