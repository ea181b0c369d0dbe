import { NO_SIGN_IN_YET } from "../control/console-address.ts";
import type { Membership } from "../identity/identity.ts";
import { html } from "../lib/html.ts";
import type { Html } from "../lib/html.ts";
import type { StatePage } from "./state-page.ts";

/** Where a link leads: one button. Without script, the link is pasted. */
export const ENTER: StatePage = {
  status: 200,
  title: "Sign in",
  body: html`<h1>Sign in to Returns Analytics</h1>
    <form method="post" action="/enter">
      <p class="field">
        <label for="secret">Paste your link</label>
        <input id="secret" name="secret" autocomplete="off" spellcheck="false" required />
      </p>
      <button>Sign in</button>
    </form>
    <p>The link works once, for 10 minutes. <code>./returns user link</code> prints another.</p>`,
};

export const NO_SIGN_IN: StatePage = {
  status: 200,
  title: "Sign in",
  body: html`<h1>Sign in to Returns Analytics</h1>
    <p>${NO_SIGN_IN_YET}</p>`,
};

const HOW_TO_GET_A_LINK = html`<p>Run this where the service runs, and open the link that it prints:</p>
  <pre tabindex="0"><code>./returns user link</code></pre>
  <p>The link works once, within 10 minutes.</p>`;

export const SIGN_IN: StatePage = {
  status: 200,
  title: "Sign in",
  body: html`<h1>Sign in to Returns Analytics</h1>
    <p>You sign in with a link.</p>
    ${HOW_TO_GET_A_LINK}
    <p><a href="/docs">Guides to the API</a></p>`,
};

const REFUSED_LINKS = {
  unknown: "This installation does not know this link.",
  used: "This link has been used already.",
  expired: "This link has expired.",
  disabled: "This person can no longer sign in.",
} as const;

/** Why a link did not sign anybody in. */
export function refusedLink(reason: keyof typeof REFUSED_LINKS): StatePage {
  return {
    status: 403,
    title: "This link does not work",
    body: html`<h1>This link does not work</h1>
      <p role="alert">${REFUSED_LINKS[reason]}</p>
      ${HOW_TO_GET_A_LINK}`,
  };
}

export const TOO_MANY: StatePage = {
  status: 429,
  retryAfterSeconds: 60,
  title: "Too many attempts",
  body: html`<h1>Too many attempts</h1>
    <p>Wait a minute, then press the button again.</p>`,
};

export const OTHER_ORIGIN: StatePage = {
  status: 403,
  title: "Not sent from here",
  body: html`<h1>Not sent from here</h1>
    <p>Nothing was changed, because this request did not come from a page of the console.</p>
    <p><a href="/">To the console</a></p>`,
};

/** A name that the console does not have; `port` is the one that was reached. */
export function otherHost(publicOrigin: string | null, port: number): StatePage {
  return {
    status: 403,
    title: "The console is not at this address",
    body: html`<h1>The console is not at this address</h1>
      ${publicOrigin === null ? loopbackRemedies(port) : html`<p>It is at <a href="${publicOrigin}">${publicOrigin}</a>.</p>`}
      <p>The API answers here: see its <a href="/docs">guides</a>.</p>`,
  };
}

function loopbackRemedies(port: number): Html {
  return html`<p>
      Without https the console answers only on the machine that it runs on, because others on the network
      could read along.
    </p>
    <ul>
      <li>On that machine, open <a href="http://localhost:${port}/">http://localhost:${port}/</a>.</li>
      <li>
        From another one, forward the port with <code>ssh -L ${port}:localhost:${port} that-machine</code>,
        and open the same address.
      </li>
      <li>
        For everybody, put a proxy with TLS in front and set <code>PUBLIC_URL</code> to its https address.
        ${NO_SIGN_IN_YET}
      </li>
    </ul>`;
}

/** The chooser of a person with several workspaces, or with none. */
export function chooser(workspaces: readonly Membership[], isOperator: boolean): StatePage {
  return {
    status: 200,
    title: "Workspaces",
    body: html`<h1>Your workspaces</h1>
      ${
        workspaces.length === 0
          ? NO_WORKSPACE
          : html`<ul>
              ${workspaces.map(workspaceItem)}
            </ul>`
      }
      ${isOperator && html`<p><a href="/welcome">New workspace</a></p>`}`,
  };
}

const NO_WORKSPACE = html`<p>
    You are not a member of a workspace yet. This command makes you an owner of one:
  </p>
  <pre tabindex="0"><code>./returns user link --workspace shop.example</code></pre>`;

function workspaceItem({ shop_domain: shopDomain, role }: Membership): Html {
  return html`<li>
    <a href="/w/${encodeURIComponent(shopDomain)}">${shopDomain}</a> <small>${role}</small>
  </li>`;
}
