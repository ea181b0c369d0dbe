import type { FastifyReply } from "fastify";
import type { Membership, Memberships } from "../access/identity.ts";
import { runAction } from "../actions/action.ts";
import { textInput } from "../actions/field.ts";
import type { Refusal } from "../actions/refusal.ts";
import { listStores } from "../actions/sources/connect.ts";
import { IMPORTS_PATH, sourcePath } from "../actions/console-address.ts";
import { createWorkspace, currencyOptions } from "../actions/workspace/actions.ts";
import { html, type Html } from "../lib/html.ts";
import { formOf } from "./form-scope.ts";
import { switchedPage } from "./layout.ts";
import { addressOf } from "./page-call.ts";
import {
  formPlace,
  forSender,
  forVisitor,
  leadOn,
  ownCaller,
  queryOf,
  showOwn,
  showSignIn,
  type OwnRequest,
  type Routes,
  type SessionContext,
} from "./session-context.ts";
import { pageLinks } from "./views/blocks.ts";
import { filterForm, textField as filterField } from "./views/filters.ts";
import { refusal, selectField, textField, type FormPlace } from "./views/form.ts";

const PATH = "/w";

/** Where each next step begins, in a new workspace. */
const WAYS: ReadonlyMap<string, string> = new Map([
  ...listStores().map(({ source }) => [source, sourcePath(source, "/connect")] as const),
  ["csv", IMPORTS_PATH],
]);

/** Where a person's work begins: a workspace, or the list of theirs, where operators create others and become their owners. */
export function homeRoutes(context: SessionContext): Routes {
  const { identity } = context;
  const create = async (own: OwnRequest): Promise<FastifyReply> => {
    const form = formOf(own.request);
    const input = textInput({ domain: form.get("domain") ?? "", currency: form.get("currency") ?? "" });
    const { shop_domain: domain } = (await runAction(createWorkspace, ownCaller(context, own), input)).result;
    const way = WAYS.get(form.get("way") ?? "") ?? "";
    const done = `Created the workspace ${domain}. You are its owner.`;
    return leadOn(context, own.reply, done, addressOf(domain, way));
  };
  const show = async (own: OwnRequest, refused?: Refusal): Promise<FastifyReply> => {
    const { userId, isOperator } = own.visitor.person;
    const { q: search = "", after = "", page = "" } = queryOf(own.request);
    const found = await identity.workspacesOf(userId, { search, after });
    const place = formPlace(own.request, PATH, refused && { action: createWorkspace, refused });
    const body = chooser({ ...found, search, after, page: switchedPage(page), isOperator }, place);
    return showOwn(context, own, { title: "Workspaces", body, refused });
  };
  return {
    "/": {
      get: async (request, reply) => {
        const visitor = await context.signedIn(request);
        if (visitor === null) return showSignIn(context, reply);
        const { userId, lastShopKey } = visitor.person;
        const domain = await identity.homeOf(userId, lastShopKey);
        return reply.redirect(domain === null ? PATH : addressOf(domain, ""), 303);
      },
    },
    [PATH]: {
      get: forVisitor(context, (own) => show(own)),
      post: forSender(context, create, show),
    },
  };
}

/** `page`: the page that each workspace link leads to. */
type Choice = Memberships & { search: string; after: string; page: string; isOperator: boolean };

/** The list of somebody's workspaces, with a search form where they do not fit one page. */
function chooser({ workspaces, isMore, search, after, page, isOperator }: Choice, place: FormPlace): Html {
  const isPart = isMore || search !== "" || after !== "";
  const query = { q: search, page, ...(after === "" ? {} : { after }) };
  const next = isMore ? (workspaces.at(-1)?.shop_domain ?? null) : null;
  return html`<h1>Your workspaces</h1>
    ${refusal(place, createWorkspace.name)}
    ${isPart && filterForm(place, PATH, page === "" ? {} : { page }, [filterField("q", "Name or domain", search, "search")])}
    ${
      workspaces.length > 0
        ? html`<ul>
            ${workspaces.map((workspace) => workspaceItem(workspace, page))}
          </ul>`
        : isPart
          ? html`<p>None of your workspaces has “${search}” in its name or domain.</p>`
          : noWorkspace(isOperator)
    }
    ${isPart && pageLinks({ ...place, query }, PATH, next, "after")}
    ${isOperator && html`<p><a href="/operator">Operator pages</a></p>${createForm(place)}`}`;
}

function workspaceItem({ shop_domain: domain, display_name: name, role }: Membership, page: string): Html {
  return html`<li>
    <a href="${addressOf(domain, page)}">${name}</a>
    <small>${name !== domain && `${domain}, `}${role}</small>
  </li>`;
}

function noWorkspace(isOperator: boolean): Html {
  return html`<p>
    You are not a member of a workspace yet.
    ${
      isOperator
        ? html`Create one here, or become an owner of an existing one by
            <code>./returns user link --workspace shop.example</code>.`
        : "The operator of this service can create one, or an owner of an existing one can invite you."
    }
  </p>`;
}

/** One button for each next step: it creates the workspace and starts that step. */
function createForm(place: FormPlace): Html {
  return html`<h2>New workspace</h2>
    <p>A workspace holds the orders and returns of one shop. You become its owner.</p>
    <form method="post" action="${PATH}">
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
