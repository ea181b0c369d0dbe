import type { FastifyReply, FastifyRequest } from "fastify";
import { readList, runAction, type Action, type ActionCaller, type List } from "../actions/action.ts";
import { auditListOfAll } from "../actions/audit/audit.ts";
import { formInput, type Fields } from "../actions/field.ts";
import { disableUser, enableUser, userList } from "../actions/people/actions.ts";
import { isPersonId } from "../actions/people/person-name.ts";
import { planList } from "../actions/plan/actions.ts";
import { STATUS_OF_REFUSAL, type Refusal } from "../actions/refusal.ts";
import { requireRight } from "../actions/right.ts";
import { setWorkspace } from "../actions/workspace/settings.ts";
import { requireWorkspace, workspaceList, workspaceOverview } from "../actions/workspace/workspace.ts";
import { noteRefusal } from "../http/request-log.ts";
import { capital } from "../lib/capital.ts";
import { html, type Html } from "../lib/html.ts";
import type { Cell } from "../lib/table.ts";
import { formOf } from "./form-scope.ts";
import { isoInstant } from "./format.ts";
import {
  formPlace,
  forSender,
  forVisitor,
  leadOn,
  orRefused,
  ownCaller,
  queryOf,
  showOwn,
  showState,
  type OwnRequest,
  type RefusedAction,
  type Routes,
  type SessionContext,
} from "./session-context.ts";
import { forbidden, statePage, unconfirmed } from "./state-page.ts";
import { fact, pageNav, rows, tableOf, tabs } from "./views/blocks.ts";
import { actionForm, refusal, selectField, type FormPlace } from "./views/form.ts";

const HOME = "/operator";
const WORKSPACE = `${HOME}/workspace`;
const PEOPLE = `${HOME}/people`;
const AUDIT = `${HOME}/audit`;
const TABS = [
  [HOME, "Workspaces"],
  [PEOPLE, "People"],
  [AUDIT, "Audit"],
  [`${HOME}/health`, "Health"],
] as const;

const ROWS_PER_PAGE = 50;
/** One more than fits shows that there is a next page. */
const LIMIT = ROWS_PER_PAGE + 1;

type Query = Readonly<Record<string, string>>;
/** The operator and the request; `query`: parameters of the address. */
type Asked = { caller: ActionCaller; query: Query; place: FormPlace; context: SessionContext };
type View = (asked: Asked) => Promise<{ title: string; body: Html }>;

/**
 * The pages of operators: lists and actions of the commands, without any store's figures. The right of an operator is read
 * for each request, and again by the runner.
 */
export function operatorRoutes(context: SessionContext): Routes {
  const get = (view: View) => ({ get: forVisitor(context, (own) => show(context, own, view)) });
  const post = <Inputs extends Fields, By extends ActionCaller>(
    action: Action<Inputs, unknown, By>,
    view: View,
  ) => ({
    post: forSender(
      context,
      async (own) => {
        const form = formOf(own.request);
        const caller = ownCaller(context, own);
        requireRight(caller.actor, action);
        const isOfPerson = action.hasNoWorkspace === true;
        const domain = form.get("domain") ?? "";
        const workspace = isOfPerson ? null : await requireWorkspace(caller.database, domain);
        // An empty field leaves its value unchanged.
        const given = formInput((name) => form.getAll(name).filter((text) => text !== ""));
        const { done } = await runAction(action, { ...caller, workspace } as unknown as By, given);
        const next = workspace === null ? PEOPLE : workspaceHref(workspace.shop_domain);
        return leadOn(context, own.reply, done, next);
      },
      (own, refused) => show(context, own, view, { action, refused }),
    ),
  });
  return {
    [HOME]: get(workspacesView),
    [WORKSPACE]: { ...get(workspaceView), ...post(setWorkspace, workspaceView) },
    [PEOPLE]: get(peopleView),
    [`${PEOPLE}/disable`]: post(disableUser, peopleView),
    [`${PEOPLE}/enable`]: post(enableUser, peopleView),
    [AUDIT]: get(auditView),
    [`${HOME}/health`]: get(healthView),
  };
}

/** A page in its frame, or why there is none; `form`: its form that was refused. */
function show(
  context: SessionContext,
  own: OwnRequest,
  view: View,
  form?: RefusedAction,
): Promise<FastifyReply> {
  const { request } = own;
  const shown = async (): Promise<FastifyReply> => {
    if (form?.refused.kind === "forbidden" || form?.refused.kind === "unconfirmed") throw form.refused;
    const place = formPlace(request, (path) => path, form);
    const domain = formOf(request).get("domain");
    const query = domain === null ? queryOf(request) : { domain };
    const asked = { context, caller: ownCaller(context, own), query, place };
    const { title, body } = await view(asked);
    const path = pathOf(request);
    const links = TABS.map(([href, text]) => ({
      href,
      text,
      isCurrent: href === HOME ? path === HOME || path === WORKSPACE : path.startsWith(href),
    }));
    const markup = html`<h1>Operator</h1>
      ${tabs("Operator pages", links)} ${body}`;
    return showOwn(context, own, { title, body: markup, refused: form?.refused });
  };
  return orRefused(shown, (refused) => showRefused(own, refused));
}

function pathOf({ raw }: FastifyRequest): string {
  return (raw.url ?? "").split("?", 1)[0] ?? "";
}

function showRefused({ request, reply, visitor }: OwnRequest, { kind, message }: Refusal): FastifyReply {
  noteRefusal(request, message);
  const { name } = visitor.person;
  if (kind === "forbidden") return showState(reply, forbidden(message), name);
  if (kind === "unconfirmed")
    return showState(reply, unconfirmed(message, pathOf(request).startsWith(PEOPLE) ? PEOPLE : HOME), name);
  const next = html`<p class="banner refused" role="alert">${message}</p>
    <p><a href="${HOME}">Workspaces</a></p>`;
  return showState(reply, statePage(STATUS_OF_REFUSAL[kind], "This page cannot be shown", next), name);
}

const workspacesView: View = async ({ caller, query }) => {
  const { q = "", plan = "", readiness = "", after = "" } = query;
  const filter = {
    search: q.toLowerCase() || null,
    plan: plan || null,
    billing: null,
    readiness: readiness || null,
    after: after || null,
    limit: LIMIT,
  };
  const found = await readList(workspaceOverview, { ...caller, filter });
  const table = listTable(found, {
    caption: "Workspaces, by domain",
    columns: columnsOf(workspaceOverview, {
      domain: ({ shop_domain: domain }) => html`<a href="${workspaceHref(domain)}">${domain}</a>`,
    }),
    key: ({ shop_domain: domain }) => domain,
    path: HOME,
    query,
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
  const choices = html`${chosen("plan", "Plan", plan, plans)} ${chosen("readiness", "Readiness", readiness, READINESS)}`;
  return { title: "Workspaces", body: html`${searchForm(HOME, "Domain", q, choices)} ${table}` };
};

const READINESS = ["ready", "installing", "backfilling", "reconnecting", "moving", "erasing"];
const workspaceHref = (domain: string): string => `${WORKSPACE}?domain=${encodeURIComponent(domain)}`;

const workspaceView: View = async ({ caller, query, place }) => {
  requireRight(caller.actor, workspaceList);
  const row = await requireWorkspace(caller.database, query["domain"] ?? "");
  const { shop_domain: domain, requested_plan: requested } = row;
  const plans = (await readList(planList, caller)).map(({ plan }) => [plan, plan] as const);
  const fields = (["plan", "billing", "readiness"] as const).map((name) => {
    const { label, choices = plans } = setWorkspace.input[name];
    const options = [["", `Unchanged: ${row[name]}`] as const, ...choices];
    return selectField(place, setWorkspace.name, { name, label, options });
  });
  const state = columnsOf(workspaceList).map(([name, cell]) => fact(name, cell(row)));
  return {
    title: domain,
    body: html`<h2>${domain}</h2>
      ${rows(state)}
      ${requested !== null && html`<p class="banner">Its owner asks for ${requested}: ${row.plan_request_reason ?? ""}</p>`}
      <h3>Settings</h3>
      ${refusal(place, setWorkspace.name)}
      ${actionForm(place, { path: WORKSPACE, button: setWorkspace.title, kept: { domain } }, fields)}`,
  };
};

const peopleView: View = async ({ caller, query, place }) => {
  const { q = "", after = "" } = query;
  const filter = { search: q || null, after: isPersonId(after) ? after : null, limit: LIMIT };
  const found = await readList(userList, { ...caller, filter });
  const action = ({ user_id: person, name, disabled_at: since }: (typeof found)[number]): Html => {
    const [{ title }, word] = since === null ? [disableUser, "disable"] : [enableUser, "enable"];
    const button = title.replace("person", () => name);
    return actionForm(place, { path: `${PEOPLE}/${word}`, button, variant: "quiet", kept: { person } });
  };
  const table = listTable(found, {
    caption: "People, by name",
    columns: columnsOf(userList, { action }),
    key: ({ user_id: id }) => id,
    path: PEOPLE,
    query,
  });
  return {
    title: "People",
    body: html`${refusal(place, disableUser.name)} ${refusal(place, enableUser.name)} ${searchForm(PEOPLE, "Name", q)} ${table}`,
  };
};

const auditView: View = async ({ caller, query }) => {
  const filter = { actor: null, action: null, from: null, to: null };
  const after = query["after"] ?? null;
  const found = await readList(auditListOfAll, { ...caller, filter, after, limit: LIMIT });
  const body = listTable(found, {
    caption: "Actions on workspaces and the installation, newest first",
    columns: columnsOf(auditListOfAll),
    key: ({ cursor }) => cursor,
    path: AUDIT,
    query,
  });
  return { title: "Audit", body };
};

const healthView: View = async ({ caller: { actor }, context }) => {
  requireRight(actor, workspaceList);
  const checks = await context.checkRunning();
  const firing = checks.filter(({ alert }) => alert !== null);
  const sorted = [...firing, ...checks.filter(({ alert }) => alert === null)];
  return {
    title: "Health",
    body: html`<p class="banner ${firing.length > 0 && "warn"}">
        ${firing.length === 0 ? "No alert is firing." : `Alerts firing: ${firing.length}.`}
      </p>
      ${tableOf("Checks of workers, sources, deliveries and backups", sorted, [
        ["Check", ({ name }) => name],
        ["Alert", ({ alert }) => alert ?? "–"],
        ["Found", ({ message }) => message],
      ])}`,
  };
};

type ListColumn<Row> = readonly [head: string, cell: (row: Row) => Html];

type Listed<Row> = {
  caption: string;
  columns: readonly ListColumn<Row>[];
  /** The cursor of the next page. */
  key: (row: Row) => string;
  path: string;
  query: Query;
};

/** A page of a list that was read with one more row than fits. */
function listTable<Row>(found: readonly Row[], { caption, columns, key, path, query }: Listed<Row>): Html {
  const shown = found.slice(0, ROWS_PER_PAGE);
  const last = shown.at(-1);
  if (last === undefined) return html`<p class="banner">Nothing matches.</p>`;
  const { after, ...kept } = query;
  const at = (more: Record<string, string>) =>
    `${path}?${new URLSearchParams({ ...kept, ...more }).toString()}`;
  const nextHref = found.length > shown.length ? at({ after: key(last) }) : null;
  return html`${tableOf(`${caption}. Times are in UTC.`, shown, columns)}
  ${(after !== undefined || nextHref !== null) && pageNav(after === undefined ? null : at({}), nextHref)}`;
}

/** The columns of a list; those in `drawn` are drawn by the page. */
function columnsOf<Row extends object>(
  { columns }: Pick<List<Row>, "columns">,
  drawn: Readonly<Record<string, (row: Row) => Html>> = {},
): ListColumn<Row>[] {
  return Object.keys({ ...columns, ...drawn }).map((head) => [
    capital(head),
    drawn[head] ?? ((row) => cellHtml(columns[head]?.(row))),
  ]);
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
