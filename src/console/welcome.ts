import type { FastifyReply, FastifyRequest } from "fastify";
import { runAction } from "../actions/action.ts";
import { textInput } from "../actions/field.ts";
import { Refusal, STATUS_OF_REFUSAL } from "../actions/refusal.ts";
import { SenderGone } from "../actions/right.ts";
import { IMPORTS_PATH, sourcePath } from "../actions/sources/paths.ts";
import { createWorkspace, currencyOptions } from "../actions/workspace/actions.ts";
import { DEMO_STORE } from "../demo/demo-store-facts.ts";
import { noteRefusal } from "../http/request-log.ts";
import type { Membership, Memberships } from "../access/identity.ts";
import type { SignedIn } from "../access/session.ts";
import { html, type Html } from "../lib/html.ts";
import { formOf } from "./form-scope.ts";
import { createMinuteLimit, MOST_FORMS_PER_MINUTE, TOO_MANY_FORMS } from "./minute-limit.ts";
import { actorOf, addressOf } from "./page-call.ts";
import { sendState } from "./page-send.ts";
import type { RefusedForm } from "./page.ts";
import { sendHtml, stateMarkup } from "./send.ts";
import type { SessionContext, Routes } from "./session-context.ts";
import { forbidden, tooMany } from "./state-page.ts";
import { entries } from "./views/blocks.ts";
import { refusal, selectField, textField, type FormPlace } from "./views/form.ts";

type Welcome = { memberships: Memberships; isOperator: boolean };

/** The ways on for somebody who has just come in. */
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
        <button name="way" value="shopify">Connect Shopify</button>
        <button name="way" value="csv">Upload files</button>
      </div>
    </form>`;
}

const PATH = "/welcome";
const FORM_LIMIT_BYTES = 2048;
const TOO_MANY = tooMany(TOO_MANY_FORMS, 60);

/** Where each way on begins, in a new workspace. */
const WAYS: Readonly<Record<string, string>> = {
  shopify: sourcePath("shopify", "/connect"),
  csv: IMPORTS_PATH,
};

/** The page for somebody without a workspace, or who wants another: operators create it there, and become its owner. */
export function welcomeRoutes(context: SessionContext): Routes {
  const admits = createMinuteLimit(MOST_FORMS_PER_MINUTE);
  return {
    [PATH]: {
      formBytes: FORM_LIMIT_BYTES,
      get: async (request, reply) => {
        const visitor = await context.signedIn(request);
        if (visitor === null) return context.toSignIn(request, reply);
        return show(context, { request, reply, person: visitor.person, status: 200, refusedForm: null });
      },
      post: async (request, reply) => {
        const visitor = await context.signedIn(request);
        if (visitor === null) return context.toSignIn(request, reply);
        const { person, sessionHash } = visitor;
        if (!admits(person.userId, context.now())) return sendState({ request, reply }, TOO_MANY, null);
        return create(context, { request, reply, person, sessionHash });
      },
    },
  };
}

type Asked = { request: FastifyRequest; reply: FastifyReply; person: SignedIn };

/** Creates the workspace, and continues with the chosen method. */
async function create(
  context: SessionContext,
  asked: Asked & { sessionHash: Buffer },
): Promise<FastifyReply> {
  const { request, reply, person, sessionHash } = asked;
  const form = formOf(request);
  const now = context.now();
  const actor = actorOf(person, sessionHash, person.isOperator ? "operator" : "person", request, now);
  const caller = { database: context.control.database, actor, now };
  const input = textInput({ domain: form.get("domain") ?? "", currency: form.get("currency") ?? "" });
  try {
    const { result } = await runAction(createWorkspace, caller, input);
    const way = WAYS[form.get("way") ?? ""] ?? "";
    reply.header(
      "Set-Cookie",
      context.done.write(`Created the workspace ${result.shop_domain}. You are its owner.`),
    );
    return await reply.redirect(addressOf(result.shop_domain, way), 303);
  } catch (error) {
    if (error instanceof SenderGone) return context.toSignIn(request, reply);
    if (!(error instanceof Refusal)) throw error;
    noteRefusal(request, error.message);
    if (error.kind === "forbidden") return sendState({ request, reply }, forbidden(error.message), null);
    const refusedForm = { action: createWorkspace.name, values: form, refusal: error };
    return show(context, { ...asked, status: STATUS_OF_REFUSAL[error.kind], refusedForm });
  }
}

async function show(
  { identity }: SessionContext,
  shown: Asked & { status: number; refusedForm: RefusedForm | null },
): Promise<FastifyReply> {
  const { reply, person, status, refusedForm } = shown;
  const memberships = await identity.workspacesOf(person.userId, { search: "", after: "" });
  const body = welcome(
    { memberships, isOperator: person.isOperator },
    { refusedForm, problems: [], href: () => PATH },
  );
  const frame = { scripts: [], userName: person.name, workspace: null };
  return sendHtml(reply, status, stateMarkup(reply, { status, title: "Welcome", body }, frame));
}
