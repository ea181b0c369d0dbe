import type { FastifyReply } from "fastify";
import type { Membership, Memberships } from "../access/identity.ts";
import { runAction } from "../actions/action.ts";
import { textInput } from "../actions/field.ts";
import { STATUS_OF_REFUSAL, type Refusal } from "../actions/refusal.ts";
import { listStores } from "../actions/sources/connect.ts";
import { IMPORTS_PATH, sourcePath } from "../actions/console-address.ts";
import { createWorkspace, currencyOptions } from "../actions/workspace/actions.ts";
import { DEMO_STORE } from "../demo/demo-store-facts.ts";
import { noteRefusal } from "../http/request-log.ts";
import { html, type Html } from "../lib/html.ts";
import { formOf } from "./form-scope.ts";
import { addressOf } from "./page-call.ts";
import {
  formPlace,
  forSender,
  forVisitor,
  leadOn,
  ownCaller,
  showState,
  type OwnRequest,
  type Routes,
  type SessionContext,
} from "./session-context.ts";
import { forbidden } from "./state-page.ts";
import { entries } from "./views/blocks.ts";
import { refusal, selectField, textField, type FormPlace } from "./views/form.ts";

type Welcome = { memberships: Memberships; isOperator: boolean };

/** The next steps for somebody who has just signed in. */
function welcome({ memberships, isOperator }: Welcome, place: FormPlace): Html {
  const { workspaces, isMore } = memberships;
  const demo = workspaces.find(({ shop_domain: domain }) => domain === DEMO_STORE.domain);
  const own = workspaces.filter((each) => each !== demo);
  return html`<h1>Welcome</h1>
    ${
      demo !== undefined &&
      html`<h2>Look around the demo</h2>
        <p>
          Two years of a made-up store, with a batch of lamps that keep coming back.
          <a href="${addressOf(DEMO_STORE.domain, "")}">Open the demo</a>
        </p>`
    }
    ${own.length > 0 && ownWorkspaces(own, isMore)}
    ${isOperator ? createForm(place, own.length > 0) : own.length === 0 && NOBODY}`;
}

const NOBODY = html`<h2>Bring your own data</h2>
  <p>
    You need a workspace for that. The operator of this service can create one, or an owner of an existing one
    can invite you.
  </p>`;

function ownWorkspaces(own: readonly Membership[], isMore: boolean): Html {
  return html`<h2>Your workspaces</h2>
    ${entries(
      own.map(({ shop_domain: domain, role }) => ({
        name: html`<a href="${addressOf(domain, "")}">${domain}</a>`,
        detail: role,
      })),
    )}
    ${isMore && html`<p><a href="/w">All workspaces</a></p>`}`;
}

/** One button for each next step: it creates the workspace and starts that step. */
function createForm(place: FormPlace, hasOthers: boolean): Html {
  return html`<h2>${hasOthers ? "Create another workspace" : "Bring your own data"}</h2>
    <p>A workspace holds the orders and returns of one shop. You become its owner.</p>
    ${refusal(place, createWorkspace.name)}
    <form method="post" action="/welcome">
      ${textField(place, createWorkspace.name, {
        name: "domain",
        label: "The shop’s domain",
        hint: "Such as shop.example.com. It names the workspace and cannot be changed.",
      })}
      ${selectField(place, createWorkspace.name, {
        name: "currency",
        label: "Its currency",
        hint: "The shop’s own: all money is counted in it.",
        options: [["", "Choose one"], ...currencyOptions()],
      })}
      <div class="actions">
        ${listStores().map(
          ({ source, title }) => html`<button name="way" value="${source}">Connect ${title}</button>`,
        )}
        <button name="way" value="csv">Upload files</button>
      </div>
    </form>`;
}

const PATH = "/welcome";
const FORM_LIMIT_BYTES = 2048;

/** Where each next step begins, in a new workspace. */
const WAYS: ReadonlyMap<string, string> = new Map([
  ...listStores().map(({ source }) => [source, sourcePath(source, "/connect")] as const),
  ["csv", IMPORTS_PATH],
]);

/** The page for somebody without a workspace, or who wants another: operators create it there, and become its owner. */
export function welcomeRoutes(context: SessionContext): Routes {
  const create = async (own: OwnRequest): Promise<FastifyReply> => {
    const form = formOf(own.request);
    const input = textInput({ domain: form.get("domain") ?? "", currency: form.get("currency") ?? "" });
    const { shop_domain: domain } = (await runAction(createWorkspace, ownCaller(context, own), input)).result;
    const way = WAYS.get(form.get("way") ?? "") ?? "";
    const done = `Created the workspace ${domain}. You are its owner.`;
    return leadOn(context, own.reply, done, addressOf(domain, way));
  };
  const show = async ({ request, reply, visitor }: OwnRequest, refused?: Refusal): Promise<FastifyReply> => {
    const { userId, name, isOperator } = visitor.person;
    const memberships = await context.identity.workspacesOf(userId, { search: "", after: "" });
    if (refused !== undefined) noteRefusal(request, refused.message);
    const place = formPlace(request, () => PATH, refused && { action: createWorkspace, refused });
    const body = welcome({ memberships, isOperator }, place);
    const status = refused === undefined ? 200 : STATUS_OF_REFUSAL[refused.kind];
    return showState(reply, { status, title: "Welcome", body }, name);
  };
  return {
    [PATH]: {
      formBytes: FORM_LIMIT_BYTES,
      get: forVisitor(context, (own) => show(own)),
      post: forSender(context, create, (own, refused) => {
        if (refused.kind !== "forbidden") return show(own, refused);
        noteRefusal(own.request, refused.message);
        return showState(own.reply, forbidden(refused.message));
      }),
    },
  };
}
