import type { FastifyReply } from "fastify";
import { readList, runAction, type Action, type ActionCaller, type List } from "../actions/action.ts";
import { auditListOfAll } from "../actions/audit/audit.ts";
import { formInput, textInput, type Choice, type Field, type Fields } from "../actions/field.ts";
import { disableUser, enableUser, userList } from "../actions/people/actions.ts";
import { planList } from "../actions/plan/actions.ts";
import { STATUS_OF_REFUSAL } from "../actions/refusal.ts";
import { requireRight } from "../actions/right.ts";
import { setWorkspace } from "../actions/workspace/settings.ts";
import {
  requireWorkspace,
  WORKSPACE_COLUMNS,
  workspaceList,
  workspaceOverview,
} from "../actions/workspace/workspace.ts";
import { noteRefusal } from "../http/request-log.ts";
import { capital } from "../lib/capital.ts";
import { html, type Html } from "../lib/html.ts";
import { cellOf, type Cell } from "../lib/table.ts";
import { formOf } from "./form-scope.ts";
import { isoInstant } from "./format.ts";
import { withQuery } from "./page-call.ts";
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
import { forbidden, statePage } from "./state-page.ts";
import { fact, pageLinks, rows, tableOf, tabs } from "./views/blocks.ts";
import { filterForm, selectField as choiceOf, textField } from "./views/filters.ts";
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

/** The operator and the request; `query`: parameters of the address, `tab`: the page of its list. */
type Asked = FormPlace & {
  caller: ActionCaller;
  query: Readonly<Record<string, string>>;
  tab: string;
  context: SessionContext;
};
/** `title`: if it is not the tab's. */
type View = (asked: Asked) => Promise<{ title?: string; body: Html }>;

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
  const { request, reply, visitor } = own;
  const shown = async (): Promise<FastifyReply> => {
    const domain = formOf(request).get("domain");
    const query = domain === null ? queryOf(request) : { domain };
    const [tab, name] = TABS.findLast(([href]) => request.raw.url?.startsWith(href)) ?? TABS[0];
    const place = formPlace(request, tab, form);
    const { title = name, body } = await view({
      ...place,
      context,
      caller: ownCaller(context, own),
      query,
      tab,
    });
    const links = TABS.map(([href, text]) => ({ href, text, isCurrent: href === tab }));
    const markup = html`<h1>Operator</h1>
      ${tabs("Operator pages", links)} ${form && refusal(place, form.action.name)} ${body}`;
    return showOwn(context, own, { title, body: markup, refused: form?.refused });
  };
  return orRefused(shown, ({ kind, message }) => {
    noteRefusal(request, message);
    const next = html`<p class="banner refused" role="alert">${message}</p>
      <p><a href="${HOME}">Workspaces</a></p>`;
    const other = statePage(STATUS_OF_REFUSAL[kind], "This page cannot be shown", next);
    return showState(reply, kind === "forbidden" ? forbidden(message) : other, visitor.person.name);
  });
}

const workspacesView = listView(workspaceOverview, {
  caption: "Workspaces, by domain",
  drawn: {
    domain: ({ shop_domain: domain }) => html`<a href="${workspaceHref(domain)}">${domain}</a>`,
  },
  choices: async (caller) => ({ plan: await plansOf(caller) }),
});

const workspaceHref = (domain: string): string => withQuery(WORKSPACE, { domain });

const plansOf = async (caller: ActionCaller): Promise<Choice[]> =>
  (await readList(planList, caller)).map(({ plan }) => [plan, plan]);

const workspaceView: View = async (asked) => {
  const { caller, query } = asked;
  requireRight(caller.actor, workspaceList);
  const row = await requireWorkspace(caller.database, query["domain"] ?? "");
  const { shop_domain: domain, requested_plan: requested } = row;
  const plans = await plansOf(caller);
  const fields = (["plan", "billing", "readiness"] as const).map((name) => {
    const { label, choices = plans } = setWorkspace.input[name];
    const options = [["", `Unchanged: ${row[name]}`] as const, ...choices];
    return selectField(asked, setWorkspace.name, { name, label, options });
  });
  const state = Object.entries(WORKSPACE_COLUMNS).map(([name, column]) =>
    fact(capital(name), cellText(cellOf(row, column))),
  );
  return {
    title: domain,
    body: html`<h2>${domain}</h2>
      ${rows(state)}
      ${requested !== null && html`<p class="banner">Its owner asks for ${requested}: ${row.plan_request_reason ?? ""}</p>`}
      <h3>Settings</h3>
      ${actionForm(asked, { path: WORKSPACE, button: setWorkspace.title, kept: { domain } }, fields)}`,
  };
};

const peopleView = listView(userList, {
  caption: "People, by name",
  drawn: {
    action: ({ user_id: person, name, disabled_at: since }, place) => {
      const [{ title }, word] = since === null ? [disableUser, "disable"] : [enableUser, "enable"];
      const button = title.replace("person", () => name);
      return actionForm(place, { path: `${PEOPLE}/${word}`, button, variant: "quiet", kept: { person } });
    },
  },
});

const auditView = listView(auditListOfAll, {
  caption: "Actions on workspaces and the installation, newest first",
});

const healthView: View = async ({ caller: { actor }, context }) => {
  requireRight(actor, workspaceList);
  const checks = await context.checkRunning();
  const firing = checks.filter(({ alert }) => alert !== null);
  const sorted = [...firing, ...checks.filter(({ alert }) => alert === null)];
  return {
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

type Look<Row> = {
  caption: string;
  /** Columns that the page draws itself, by their headings. */
  drawn?: Readonly<Record<string, (row: Row, place: FormPlace) => Html>>;
  /** Values of filters, by name, that only the database knows. */
  choices?: (caller: ActionCaller) => Promise<Readonly<Record<string, readonly Choice[]>>>;
};

/** A page of a list, with its filters. */
function listView<Row extends object, Inputs extends Fields>(
  list: List<Row, ActionCaller, Inputs>,
  { caption, drawn = {}, choices: choicesOf }: Look<Row>,
): View {
  return async (asked) => {
    const { caller, query, tab } = asked;
    const page = { after: query["after"] || null, limit: ROWS_PER_PAGE + 1 };
    const found = await readList(list, caller, textInput(query), page);
    const known = await choicesOf?.(caller);
    const fields = Object.entries<Field<unknown>>(list.input ?? {}).map(([name, field]) => {
      const { label, choices = known?.[name] } = field;
      return choices === undefined
        ? textField(name, label, query[name], "search")
        : choiceOf(name, label, query[name] ?? "", [["", "any"], ...choices]);
    });
    const heads = Object.keys({ ...list.columns, ...drawn }).map((head) => {
      const column = list.columns[head];
      const cell = (row: Row) => drawn[head]?.(row, asked) ?? cellText(column && cellOf(row, column));
      return [capital(head), cell] as const;
    });
    const shown = found.slice(0, ROWS_PER_PAGE);
    const last = found.length > shown.length ? shown.at(-1) : undefined;
    const next = (last && list.pages?.cursor(last)) ?? null;
    return {
      body: html`${filterForm(asked, tab, {}, fields)}
        ${shown.length === 0 ? html`<p class="banner">Nothing matches.</p>` : tableOf(`${caption}. Times are in UTC.`, shown, heads)}
        ${pageLinks(asked, tab, next, "after")}`,
    };
  };
}

function cellText(cell: Cell): string {
  if (cell instanceof Date) return isoInstant(cell);
  if (typeof cell === "boolean") return cell ? "yes" : "no";
  if (typeof cell === "object" && cell !== null) return cell.join(", ") || "–";
  return String(cell ?? "–");
}
