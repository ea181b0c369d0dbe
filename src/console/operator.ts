import type { FastifyReply, FastifyRequest } from "fastify";
import {
  readList,
  runAction,
  type ActionCaller,
  type List,
  type WorkspaceCaller,
} from "../actions/action.ts";
import { auditListOfAll } from "../actions/audit/audit.ts";
import { formInput } from "../actions/field.ts";
import { disableUser, enableUser, userList } from "../actions/people/actions.ts";
import type { ListedPerson } from "../actions/people/queries.ts";
import { isPersonId } from "../actions/people/person-name.ts";
import { planList } from "../actions/plan/actions.ts";
import { Refusal, STATUS_OF_REFUSAL } from "../actions/refusal.ts";
import { requireRight, SenderGone, type Right } from "../actions/right.ts";
import { setWorkspace } from "../actions/workspace/settings.ts";
import { requireWorkspace, workspaceList, workspaceOverview } from "../actions/workspace/workspace.ts";
import { noteRefusal } from "../http/request-log.ts";
import { parseQueryString } from "../http/query-string.ts";
import { capital } from "../lib/capital.ts";
import { html, type Html } from "../lib/html.ts";
import type { Cell } from "../lib/table.ts";
import { formOf } from "./form-scope.ts";
import { isoInstant } from "./format.ts";
import {
  createMinuteLimit,
  MOST_FORMS_PER_MINUTE,
  TOO_MANY_FORMS,
  type MinuteLimit,
} from "./minute-limit.ts";
import { actorOf } from "./page-call.ts";
import type { RefusedForm } from "./page.ts";
import {
  showOwn,
  showState,
  type RouteHandler,
  type Routes,
  type SessionContext,
  type Visitor,
} from "./session-context.ts";
import { forbidden, tooMany, unconfirmed, type StatePage } from "./state-page.ts";
import { pageNav, rows, tabs } from "./views/blocks.ts";
import { actionForm, refusal, selectField, type FormPlace } from "./views/form.ts";
import { dataTable } from "./views/table.ts";

const HOME = "/operator";
const WORKSPACE = `${HOME}/workspace`;
const PEOPLE = `${HOME}/people`;
const AUDIT = `${HOME}/audit`;
const HEALTH = `${HOME}/health`;
const TABS = [
  [HOME, "Workspaces"],
  [PEOPLE, "People"],
  [AUDIT, "Audit"],
  [HEALTH, "Health"],
] as const;

const ROWS_PER_PAGE = 50;

/** The operator and the request; `query`: parameters of the address. */
type Asked = { caller: ActionCaller; query: Readonly<Record<string, string>>; place: FormPlace };
type View = (asked: Asked, context: SessionContext) => Promise<{ title: string; body: Html }>;

/**
 * The pages of operators: lists and actions of the commands, without any store's figures. The right of an operator is read
 * for each request, and again by the runner.
 */
export function operatorRoutes(context: SessionContext): Routes {
  const admits = createMinuteLimit(MOST_FORMS_PER_MINUTE);
  const post = (act: Act): RouteHandler => createPost(context, admits, act);
  return {
    [HOME]: { get: createGet(context, workspacesView) },
    [WORKSPACE]: { get: createGet(context, workspaceView), post: post(SAVE_WORKSPACE) },
    [PEOPLE]: { get: createGet(context, peopleView) },
    [`${PEOPLE}/disable`]: { post: post(onPerson(disableUser)) },
    [`${PEOPLE}/enable`]: { post: post(onPerson(enableUser)) },
    [AUDIT]: { get: createGet(context, auditView) },
    [HEALTH]: { get: createGet(context, healthView) },
  };
}

const workspacesView: View = async ({ caller, query }) => {
  const { q = "", plan = "", readiness = "", after = "" } = query;
  const filter = {
    search: q.toLowerCase() || null,
    plan: plan || null,
    billing: null,
    readiness: readiness || null,
    after: after || null,
    limit: ROWS_PER_PAGE + 1,
  };
  const found = await readList(workspaceOverview, { ...caller, filter });
  const link = ({ shop_domain: domain }: { shop_domain: string }): Html =>
    html`<a href="${WORKSPACE}?domain=${encodeURIComponent(domain)}">${domain}</a>`;
  const table = listTable("Workspaces, by domain", workspaceOverview.columns, found, {
    key: ({ shop_domain: domain }) => domain,
    path: HOME,
    query,
    first: link,
  });
  const chosen = (name: string, label: string, value: string, values: readonly string[]): Html =>
    html`<label>
      ${label}
      <select name="${name}">
        <option value="">any</option>
        ${values.map((each) => html`<option value="${each}" ${each === value && html` selected`}>${each}</option>`)}
      </select>
    </label>`;
  const plans = (await readList(planList, caller)).map((each) => each.plan);
  const form = searchForm(
    HOME,
    "Domain",
    q,
    html`${chosen("plan", "Plan", plan, plans)} ${chosen("readiness", "Readiness", readiness, READINESS)}`,
  );
  return { title: "Workspaces", body: html`${form} ${table}` };
};

const READINESS = ["ready", "installing", "backfilling", "reconnecting", "moving", "erasing"];

const workspaceView: View = async ({ caller, query, place }) => {
  requireRight(caller.actor, workspaceList);
  const row = await requireWorkspace(caller.database, query["domain"] ?? "");
  const { shop_domain: domain } = row;
  const plans = (await readList(planList, caller)).map(({ plan }) => [plan, plan] as const);
  const fields = (["plan", "billing", "readiness"] as const).map((name) => {
    const { label, choices = plans } = setWorkspace.input[name];
    const options = [["", `Unchanged: ${row[name]}`] as const, ...choices];
    return selectField(place, setWorkspace.name, { name, label, options });
  });
  const asked =
    row.requested_plan === null
      ? []
      : [`Its owner asks for ${row.requested_plan}: ${row.plan_request_reason ?? ""}`];
  return {
    title: domain,
    body: html`<h2>${domain}</h2>
      ${rows(Object.entries(workspaceList.columns).map(([name, value]) => ({ name: capital(name), value: cellHtml(value(row)) })))}
      ${asked.map((sentence) => html`<p class="banner">${sentence}</p>`)}
      <h3>Settings</h3>
      ${refusal(place, setWorkspace.name)}
      ${actionForm(place, { path: WORKSPACE, button: setWorkspace.title, kept: { domain } }, fields)}`,
  };
};

const peopleView: View = async ({ caller, query, place }) => {
  const { q = "", after = "" } = query;
  const filter = {
    search: q || null,
    after: isPersonId(after) ? after : null,
    limit: ROWS_PER_PAGE + 1,
  };
  const found = await readList(userList, { ...caller, filter });
  const form = ({ user_id: person, name, disabled_at: since }: ListedPerson): Html => {
    const { title } = since === null ? disableUser : enableUser;
    const path = `${PEOPLE}/${since === null ? "disable" : "enable"}`;
    return actionForm(place, {
      path,
      button: title.replace("person", () => name),
      variant: "quiet",
      kept: { person },
    });
  };
  const table = listTable("People, by name", userList.columns, found, {
    key: ({ user_id: id }) => id,
    path: PEOPLE,
    query,
    last: form,
  });
  return {
    title: "People",
    body: html`${refusal(place, disableUser.name)} ${refusal(place, enableUser.name)} ${searchForm(PEOPLE, "Name", q)} ${table}`,
  };
};

const auditView: View = async ({ caller, query }) => {
  const filter = { actor: null, action: null, from: null, to: null };
  const after = query["after"] ?? null;
  const found = await readList(auditListOfAll, {
    ...caller,
    filter,
    after,
    limit: ROWS_PER_PAGE + 1,
  });
  const table = listTable(
    "Actions on workspaces and the installation, newest first",
    auditListOfAll.columns,
    found,
    {
      key: ({ cursor }) => cursor,
      path: AUDIT,
      query,
    },
  );
  return { title: "Audit", body: table };
};

const healthView: View = async ({ caller: { actor } }, { checkRunning }) => {
  requireRight(actor, workspaceList);
  const checks = await checkRunning();
  const firing = checks.filter(({ alert }) => alert !== null);
  const columns = {
    Check: ({ name }: (typeof checks)[number]) => name,
    Alert: ({ alert }: (typeof checks)[number]) => alert,
    Found: ({ message }: (typeof checks)[number]) => message,
  };
  return {
    title: "Health",
    body: html`<p class="banner ${firing.length > 0 && "warn"}">
        ${firing.length === 0 ? "No alert is firing." : `Alerts firing: ${firing.length}.`}
      </p>
      ${dataTable(
        "Checks of workers, sources, deliveries and backups",
        Object.keys(columns).map((text) => ({ text })),
        [...firing, ...checks.filter(({ alert }) => alert === null)].map((check) =>
          Object.values(columns).map((value) => cellHtml(value(check))),
        ),
      )}`,
  };
};

type Listed<Row> = {
  /** The cursor of the next page. */
  key: (row: Row) => string;
  path: string;
  query: Asked["query"];
  first?: (row: Row) => Html;
  last?: (row: Row) => Html;
};

/** A page of a list that was read with one more row than fits. */
function listTable<Row extends object>(
  caption: string,
  columns: List<Row>["columns"],
  found: readonly Row[],
  { key, path, query, first, last }: Listed<Row>,
): Html {
  const shown = found.slice(0, ROWS_PER_PAGE);
  const end = shown.at(-1);
  const { after, ...kept } = query;
  const at = (more: Record<string, string>): string =>
    `${path}?${new URLSearchParams({ ...kept, ...more }).toString()}`;
  const heads = [...Object.keys(columns), ...(last === undefined ? [] : ["action"])];
  const cells = shown.map((row) => [
    ...Object.values(columns).map((value, place) =>
      place === 0 && first !== undefined ? first(row) : cellHtml(value(row)),
    ),
    ...(last === undefined ? [] : [last(row)]),
  ]);
  if (shown.length === 0) return html`<p class="banner">Nothing matches.</p>`;
  return html`${dataTable(
    `${caption}. Times are in UTC.`,
    heads.map((text) => ({ text: capital(text) })),
    cells,
  )}
    ${(after !== undefined || found.length > shown.length) && pageNav(after === undefined ? null : at({}), found.length > shown.length && end !== undefined ? at({ after: key(end) }) : null)}`;
}

function cellHtml(cell: Cell): Html {
  if (cell instanceof Date) return html`${isoInstant(cell)}`;
  if (typeof cell === "boolean") return html`${cell ? "yes" : "no"}`;
  if (typeof cell === "object" && cell !== null) return html`${cell.join(", ") || "–"}`;
  return html`${cell ?? "–"}`;
}

function searchForm(path: string, label: string, value: string, more: Html | null = null): Html {
  return html`<form class="actions" action="${path}" role="search">
    <label>${label} <input type="search" name="q" value="${value}" maxlength="100" /></label>
    ${more}
    <button>Search</button>
  </form>`;
}

/** The action of a form, with its message and the page to show then. */
type Act = {
  action: Pick<Right, "name">;
  view: View;
  run: (caller: ActionCaller, form: URLSearchParams) => Promise<{ done: string; href: string }>;
};

/** A form's input; an empty field leaves its value unchanged. */
const given = (form: URLSearchParams) => formInput((name) => form.getAll(name).filter((text) => text !== ""));

const SAVE_WORKSPACE: Act = {
  action: setWorkspace,
  view: workspaceView,
  run: async (caller, form) => {
    requireRight(caller.actor, setWorkspace);
    const workspace = await requireWorkspace(caller.database, form.get("domain") ?? "");
    const { done } = await runAction(setWorkspace, { ...caller, workspace } as WorkspaceCaller, given(form));
    return { done, href: `${WORKSPACE}?domain=${encodeURIComponent(workspace.shop_domain)}` };
  },
};

function onPerson(action: typeof disableUser | typeof enableUser): Act {
  return {
    action,
    view: peopleView,
    run: async (caller, form) => ({
      done: (await runAction(action, caller, given(form))).done,
      href: PEOPLE,
    }),
  };
}

function createGet(context: SessionContext, view: View): RouteHandler {
  return (request, reply) =>
    asOperator(context, request, reply, (caller, visitor) => {
      const { values } = parseQueryString(request.raw.url ?? "");
      const texts = [...values].flatMap(([name, value]) =>
        typeof value === "string" && value.length <= 253 && !value.includes("\0")
          ? [[name, value.trim()]]
          : [],
      );
      const query = Object.fromEntries(texts) as Record<string, string>;
      return show(context, { request, reply, visitor, caller, view, query, refusedForm: null });
    });
}

function createPost(context: SessionContext, admits: MinuteLimit, act: Act): RouteHandler {
  return (request, reply) =>
    asOperator(context, request, reply, async (caller, visitor) => {
      if (!admits(visitor.person.userId, caller.now)) return showState(reply, tooMany(TOO_MANY_FORMS, 60));
      const form = formOf(request);
      try {
        const { done, href } = await act.run(caller, form);
        return await reply.header("Set-Cookie", context.done.write(done)).redirect(href, 303);
      } catch (error) {
        if (!(error instanceof Refusal) || error.kind === "forbidden" || error.kind === "unconfirmed")
          throw error;
        const refusedForm = { action: act.action.name, values: form, refusal: error };
        const query = { domain: form.get("domain") ?? "" };
        return show(context, { request, reply, visitor, caller, view: act.view, query, refusedForm });
      }
    });
}

/** Calls with the signed-in person as actor, and shows the page of a refusal. */
async function asOperator(
  context: SessionContext,
  request: FastifyRequest,
  reply: FastifyReply,
  use: (caller: ActionCaller, visitor: Visitor) => Promise<FastifyReply>,
): Promise<FastifyReply> {
  const visitor = await context.signedIn(request);
  if (visitor === null) return context.toSignIn(request, reply);
  const { person, sessionHash } = visitor;
  const now = context.now();
  const actor = actorOf(person, sessionHash, person.isOperator ? "operator" : "person", request, now);
  try {
    return await use({ ...context.control, actor, now }, visitor);
  } catch (error) {
    if (error instanceof SenderGone) return context.toSignIn(request, reply);
    if (!(error instanceof Refusal)) throw error;
    noteRefusal(request, error.message);
    return showState(reply, stateOf(error, request), person.name);
  }
}

function stateOf({ kind, message }: Refusal, { raw }: FastifyRequest): StatePage {
  if (kind === "forbidden") return forbidden(message);
  const [path = HOME] = (raw.url ?? "").split("?", 1);
  if (kind === "unconfirmed") return unconfirmed(message, path.startsWith(PEOPLE) ? PEOPLE : HOME);
  const title = "This page cannot be shown";
  return {
    status: STATUS_OF_REFUSAL[kind],
    title,
    body: html`<h1>${title}</h1>
      <p class="banner refused" role="alert">${message}</p>
      <p><a href="${HOME}">Workspaces</a></p>`,
  };
}

type Shown = {
  request: FastifyRequest;
  reply: FastifyReply;
  visitor: Visitor;
  caller: ActionCaller;
  view: View;
  query: Asked["query"];
  refusedForm: RefusedForm | null;
};

async function show(context: SessionContext, shown: Shown): Promise<FastifyReply> {
  const { request, reply, visitor, caller, view, query, refusedForm } = shown;
  const place: FormPlace = { refusedForm, problems: [], href: (path) => path };
  const { title, body } = await view({ caller, query, place }, context);
  const [path = ""] = (request.raw.url ?? "").split("?", 1);
  const links = TABS.map(([href, text]) => ({
    href,
    text,
    isCurrent: href === HOME ? path === HOME || path === WORKSPACE : path.startsWith(href),
  }));
  return showOwn(context, request, reply, {
    status: refusedForm === null ? 200 : STATUS_OF_REFUSAL[refusedForm.refusal.kind],
    title,
    body: html`<h1>Operator</h1>
      ${tabs("Operator pages", links)} ${body}`,
    userName: visitor.person.name,
    refused: refusedForm?.refusal.message,
  });
}
