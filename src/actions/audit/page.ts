import { Readable } from "node:stream";
import { buttonFor } from "../../console/action-form.ts";
import { instant } from "../../console/format.ts";
import { definePage, type PageCall, type View } from "../../console/page.ts";
import { pick } from "../../console/selection.ts";
import { filterForm, selectField, textField } from "../../console/views/filters.ts";
import { refusal } from "../../console/views/form.ts";
import { pageLinks, tableOf } from "../../console/views/blocks.ts";
import { invalidParameters } from "../../contract/errors.ts";
import { html, type Html } from "../../lib/html.ts";
import { keptAuditText } from "../../lib/retention.ts";
import { userName } from "../../lib/user-name.ts";
import { readList } from "../action.ts";
import { memberList } from "../members/actions.ts";
import { Refusal } from "../refusal.ts";
import { readAudit } from "../right.ts";
import { AUDIT_WORDS, auditCsv, readAuditDay, showAudit } from "./audit.ts";
import type { AuditChange, AuditPage, AuditQuery } from "./audit.ts";

const PATH = "/settings/audit";
const TITLE = "Audit";
const CSV = { name: "audit.csv", title: "Download everything shown by this filter as CSV" };
const LIMIT = 50;
const FILTERS = ["who", "action", "from", "to"] as const;

type Data = AuditPage & {
  /** Possible actors: the members by name. */
  people: { actor: string; name: string }[];
  /** How far back it reaches; null = to its beginning. */
  kept: string | null;
};

/** Who did what, newest first. */
export const auditPage = definePage<Data>({
  name: "audit",
  path: PATH,
  right: readAudit,
  link: TITLE,
  takes: [...FILTERS, "cursor"],
  about: async () => "Who changed what, and when.",
  data: async (call) => {
    requireDays(call.query);
    const caller = await call.caller();
    const cursor = call.query["cursor"] ?? null;
    const page = await showAudit(caller, { query: queryOf(call.query), cursor, limit: LIMIT });
    const list = await readList(memberList, caller);
    const people = list.map(({ user_id: id, name }) => ({ actor: userName(id), name }));
    return { ...page, people, kept: keptAuditText(caller.retention) };
  },
  view: (data, call) => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1>
      <p class="lead">
        Who changed what in ${call.shopDomain}, newest first. Times are in UTC. People who were removed are
        shown as “removed member”. ${data.kept}
      </p>
      ${form(call, data.people)} ${table(data, call)} ${pageLinks(call, PATH, data.next)} ${csvForm(call)}`,
  }),
  refused: (call): View => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1>
      ${form(call, [])}`,
  }),
  forms: [
    {
      name: CSV.name,
      path: `${PATH}/csv`,
      right: readAudit,
      perform: async ({ form: sent, caller, shopDomain }) => {
        const pieces = auditCsv(await caller(), queryOf(Object.fromEntries(sent)));
        const file = { name: `audit_${shopDomain}.csv`, type: "text/csv; charset=utf-8" };
        return { file: { ...file, body: Readable.from(pieces) } };
      },
    },
  ],
});

type Query = Readonly<Record<string, string>>;

function queryOf(query: Query): AuditQuery {
  return pick(query, FILTERS);
}

/** An invalid day is reported at its field. Throws `ApiError`. */
function requireDays(query: Query): void {
  const problems = (["from", "to"] as const).flatMap((name) => {
    try {
      readAuditDay(name, query[name] ?? "");
      return [];
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return [{ name, sentence: error.message }];
    }
  });
  if (problems.length > 0) throw invalidParameters(problems);
}

const NO_PERSON = [
  ["operator", "Operator"],
  ["merchant", "Merchant"],
  ["shopify", "Shopify"],
] as const;

function form(call: PageCall, people: Data["people"]): Html {
  const { query } = call;
  const who = [
    ["", "everybody"],
    ...people.map(({ actor, name }) => [actor, name] as const),
    ...NO_PERSON,
  ] as const;
  const words = Object.entries(AUDIT_WORDS).toSorted(([, one], [, other]) => (one < other ? -1 : 1));
  const actions = [["", "everything"], ...words] as const;
  return filterForm(call, PATH, {}, [
    selectField("who", "Who", query["who"] ?? "", who),
    selectField("action", "What", query["action"] ?? "", actions),
    textField("from", "From day (UTC)", query["from"], "date"),
    textField("to", "To day (included)", query["to"], "date"),
  ]);
}

function table({ actions }: Data, { href, query }: PageCall): Html {
  if (actions.length === 0) return html`<p class="banner">No entry matches this filter.</p>`;
  const { cursor: _page, ...kept } = query;
  return tableOf("Actions, newest first", actions, [
    ["When", ({ happened_at: at }) => timeOf(at.toISOString())],
    ["Who", ({ who, actor }) => html`<a href="${href(PATH, { ...kept, who: actor })}">${who}</a>`],
    ["What", ({ what, action }) => html`<a href="${href(PATH, { ...kept, action })}">${what}</a>`],
    ["Before → after", ({ changes }) => changes.map(changeLine)],
    ["Origin", ({ origin, actor }) => origin ?? (actor === "operator" ? "command line" : "–")],
  ]);
}

function timeOf(moment: string): Html {
  return html`<time datetime="${moment}">${instant(moment)}</time>`;
}

function changeLine({ name, before, after }: AuditChange): Html {
  return html`<div>
    <small>${name}</small> ${before !== null && html`<del>${before}</del> → `}${after ?? "none"}
  </div>`;
}

function csvForm(call: PageCall): Html {
  return html`<h2>Export the audit</h2>
    ${refusal(call, CSV.name)} ${buttonFor(call, CSV, { variant: "quiet", kept: pick(call.query, FILTERS) })}`;
}
