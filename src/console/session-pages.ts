import type { Identity } from "../access/identity.ts";
import { PASSKEY_REFUSALS } from "../access/passkey.ts";
import type { Provider } from "../access/provider.ts";
import { LINK_REFUSALS, REFUSALS, type SignInRefusal } from "../access/sign-in.ts";
import { ROLE_TEXTS } from "../actions/members/actions.ts";
import { html, type Html } from "../lib/html.ts";
import { isoInstant } from "./format.ts";
import { HOW_TO_GET_A_LINK, passkeyForm } from "./views/form.ts";
import { statePage, type StatePage } from "./state-page.ts";

/** For a link's secret, which its page fills in. */
export const secretField = (label: string): Html => html`<p class="field">
  <label for="secret">${label}</label>
  <input id="secret" name="secret" autocomplete="off" spellcheck="false" required />
</p>`;
const SECRET_FIELD = secretField("Paste your link");

/**
 * The page of a link: one button on this machine; over https it creates a passkey, which signs in. `link`: the page's content;
 * null: unknown. Without JavaScript, the link is pasted.
 */
export function signInState(
  link: Awaited<ReturnType<Identity["describeLink"]>>,
  isPublic: boolean,
  provider: Pick<Provider, "name"> | null,
): StatePage {
  const page = isPublic ? ENROL : ENTER;
  if (link === null) return page;
  const { purpose, closed, role, workspace_name: workspace, maker_name: maker } = link;
  const asked = maker ?? "the operator of this service";
  if (closed !== null) {
    const title = purpose === "invite" ? "This invitation no longer works" : "This link no longer works";
    const next = closed === "used" ? `If that was not you, tell ${asked}.` : `Ask ${asked} for a new one.`;
    return statePage(403, title, html`<p role="alert">${REFUSALS[closed]} ${next}</p> ${TO_SIGN_IN}`);
  }
  if (workspace === null || role === null) return page;
  const who = maker === null ? "You are invited" : `${maker} invites you`;
  const title = purpose === "invite" ? `${who} to ${workspace}` : `Recover access to ${workspace}`;
  return statePage(
    200,
    title,
    html`<p>
        You sign in as ${link.name}, ${role === "viewer" ? "a" : "an"} ${role}, who ${ROLE_TEXTS[role]}. The link works once,
        until ${isoInstant(link.expires_at)}.
      </p>
      ${isPublic ? ENROL_FORM : ENTER_FORM}
      ${provider !== null && link.has_email && html`<p>Or use your account at ${provider.name}, now and later:</p>${providerForm(`Sign in with ${provider.name}`)}`}`,
  );
}

const ENTER_FORM = html`<form method="post" action="/enter">
  ${SECRET_FIELD}
  <button>Sign in</button>
</form>`;

const ENTER = statePage(
  200,
  "Sign in",
  html`${ENTER_FORM}
    <p>The link works once. <code>./returns user link</code> prints another.</p>`,
);

const ENROL_FORM = html`<p>
    A passkey replaces a password. Your device or password manager stores it and unlocks it with your fingerprint, your
    face or a PIN. None of these is sent.
  </p>
  ${passkeyForm({
    action: "/enter",
    kind: "create",
    button: "Create passkey and sign in",
    fields: SECRET_FIELD,
  })}
  <p>If you dismiss your device's prompt, press the button again.</p>`;

const ENROL = statePage(200, "Create a passkey to sign in", html`${ENROL_FORM} <p>The link works once.</p>`);

const WITH_PASSKEY = passkeyForm({ action: "/sign-in", kind: "get", button: "Sign in with a passkey" });

const PUBLICLY = html`${WITH_PASSKEY}
  <p>
    New here, or lost your passkey? An owner of your workspace or the operator of this service can create a
    link for you.
  </p>`;

/** On the service's own machine, a person without a passkey signs in with a link. */
const LOCALLY = html`${HOW_TO_GET_A_LINK}
  <h2>If you have created a passkey here</h2>
  ${WITH_PASSKEY}`;

/** `provider`: the identity provider; null = none is configured. */
export function signInPage(isPublic: boolean, provider: Pick<Provider, "name"> | null): StatePage {
  return statePage(
    200,
    "Sign in",
    html`${provider !== null && providerForm(`Sign in with ${provider.name}`)}
      ${isPublic ? PUBLICLY : html`<p>${provider === null ? "You sign in with a link." : "Or sign in with a link."}</p> ${LOCALLY}`}
      <p><a href="/docs">Guides to the API</a></p>`,
  );
}

/** The form that leads to the identity provider; `fields`: hidden ones of somebody who is signed in. */
export function providerForm(button: string, fields: Html | null = null): Html {
  return html`<form method="post" action="/sign-in/provider">${fields}<button>${button}</button></form>`;
}

/** What was not accepted. */
export function kindOfRefusal(reason: SignInRefusal): keyof typeof REFUSED {
  if (reason in LINK_REFUSALS) return "sign-in link";
  return reason in PASSKEY_REFUSALS ? "passkey" : "identity provider";
}

const REFUSED = {
  "sign-in link": "This link does not work",
  passkey: "This passkey was not accepted",
  "identity provider": "Single sign-on did not work",
};

const TO_SIGN_IN = html`<p><a href="/sign-in">Sign in</a></p>`;

/** Of a link on this machine, how to get another; else the way back to the sign-in. */
export function refusedSignIn(reason: SignInRefusal, isPublic: boolean): StatePage {
  const kind = kindOfRefusal(reason);
  const next = kind === "sign-in link" && !isPublic ? HOW_TO_GET_A_LINK : TO_SIGN_IN;
  return statePage(403, REFUSED[kind], html`<p role="alert">${REFUSALS[reason]}</p> ${next}`);
}

export const TOO_MANY: StatePage = statePage(
  429,
  "Too many attempts",
  html`<p>Wait a minute, then press the button again.</p>`,
  60,
);

export const OTHER_ORIGIN: StatePage = statePage(
  403,
  "Not sent from the console",
  html`<p>Nothing was changed, because this request did not come from a page of the console.</p>
    <p><a href="/">Open the console</a></p>`,
);

/** A name that the console does not have; `port` is the one that was reached. */
export function otherHost(publicOrigin: string | null, port: number): StatePage {
  return statePage(
    403,
    "The console is not available at this address",
    html`${publicOrigin === null ? loopbackRemedies(port) : html`<p>It is at <a href="${publicOrigin}">${publicOrigin}</a>.</p>`}
      <p>The API is available here: see its <a href="/docs">guides</a>.</p>`,
  );
}

function loopbackRemedies(port: number): Html {
  return html`<p>
      Without https the console answers only on the machine that it runs on, because others on the network
      could read the traffic.
    </p>
    <ul>
      <li>On that machine, open <a href="http://localhost:${port}/">http://localhost:${port}/</a>.</li>
      <li>
        From another one, forward the port with <code>ssh -L ${port}:localhost:${port} that-machine</code>,
        and open the same address.
      </li>
      <li>
        To open it to others, put a proxy with TLS in front and set <code>PUBLIC_URL</code> to its https address.
      </li>
    </ul>`;
}
