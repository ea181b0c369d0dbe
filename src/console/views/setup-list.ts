import type { Setup } from "../../control/setup.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import type { PageCall } from "../page.ts";
import { SOURCES_PATH } from "../../actions/sources/paths.ts";
import { actionForm } from "./form.ts";

/** Where each step is done, and what it is for. */
const STEPS: Readonly<Record<keyof Setup, { text: string; path: string; why: string }>> = {
  store: {
    text: "Connect a shop, or upload files",
    path: SOURCES_PATH,
    why: "It brings orders and returns.",
  },
  labels: {
    text: "Add label costs",
    path: SOURCES_PATH,
    why: "Without them, costs are refunds only.",
  },
  window: {
    text: "Choose the return window",
    path: "/settings/windows",
    why: "How many days a return counts for its order.",
  },
  others: { text: "Invite somebody", path: "/settings/members", why: "Each person signs in on their own." },
  token: {
    text: "Make an access token",
    path: "/settings/tokens",
    why: "For programs and agents that ask for figures.",
  },
};

/** What is left to set up; null = nothing, or it is hidden, or the member may not do it. */
export function setupList(setup: Setup | null, call: PageCall): Html | null {
  if (setup === null) return null;
  const names = Object.keys(STEPS) as (keyof Setup)[];
  const left = names.filter((name) => !setup[name]).length;
  return html`<section class="setup" aria-labelledby="setup">
    <h2 id="setup">${left} of ${names.length} steps of the setup are left</h2>
    <ul class="entries">
      ${names.map((name) => {
        const { text, path, why } = STEPS[name];
        return setup[name]
          ? html`<li><div>${text}</div><span>Done</span></li>`
          : html`<li><div><a href="${call.href(path)}">${text}</a><small>${why}</small></div></li>`;
      })}
    </ul>
    ${actionForm(call, { path: "/setup/close", button: "Hide this list", look: "quiet" })}
  </section>`;
}
