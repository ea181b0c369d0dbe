import { DEMO_STORE } from "../../demo/demo-store-facts.ts";
import { createWorkspace } from "../../actions/workspace/actions.ts";
import type { Membership } from "../../identity/identity.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { addressOf } from "../page-call.ts";
import { entries } from "./entries.ts";
import { refusal, textField } from "./form.ts";
import type { FormPlace } from "./form.ts";

export type Welcome = { memberships: readonly Membership[]; isOperator: boolean };

/** The ways on for somebody who has just come in. */
export function welcome({ memberships, isOperator }: Welcome, place: FormPlace): Html {
  const demo = memberships.find(({ shop_domain: domain }) => domain === DEMO_STORE.domain);
  const own = memberships.filter((each) => each !== demo);
  return html`<h1>Welcome</h1>
    ${
      demo !== undefined &&
      html`<h2>Look around the demo</h2>
        <p>
          Two years of a made-up store, with a batch of lamps that keep coming back.
          <a href="${addressOf(DEMO_STORE.domain, "")}">Open the demo</a>
        </p>`
    }
    ${own.length > 0 && ownWorkspaces(own)}
    ${isOperator ? createForm(place, own.length > 0) : own.length === 0 && NOBODY}`;
}

const NOBODY = html`<h2>Bring your own data</h2>
  <p>
    That takes a workspace. Whoever runs this installation makes one; an owner of one that exists can invite
    you.
  </p>`;

function ownWorkspaces(own: readonly Membership[]): Html {
  return html`<h2>Your workspaces</h2>
    ${entries(
      own.map(({ shop_domain: domain, role }) => ({
        name: html`<a href="${addressOf(domain, "")}">${domain}</a>`,
        detail: role,
      })),
    )}`;
}

/** One button for each way on, so that the workspace is made and the way begun at once. */
function createForm(place: FormPlace, hasOthers: boolean): Html {
  return html`<h2>${hasOthers ? "Make one more workspace" : "Bring your own data"}</h2>
    <p>A workspace holds the orders and returns of one shop. You become its owner.</p>
    ${refusal(place, createWorkspace.name)}
    <form method="post" action="/welcome">
      ${textField(place, createWorkspace.name, {
        name: "domain",
        label: "The shop’s domain",
        hint: "Such as shop.example.com. It names the workspace, and stays.",
      })}
      ${textField(place, createWorkspace.name, {
        name: "currency",
        label: "Its currency",
        hint: "Three letters, such as EUR. The shop’s own: all money is counted in it.",
      })}
      <div class="actions">
        <button name="way" value="shopify">Connect Shopify</button>
        <button name="way" value="csv">Upload CSV files</button>
      </div>
    </form>`;
}
