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
import { textInput } from "../field.ts";
import { memberList } from "../members/actions.ts";
import { Refusal } from "../refusal.ts";
import { readAudit } from "../right.ts";
import { AUDIT_WORDS, auditCsv, showAudit, type AuditChange, type ListedAction } from "./audit.ts";

const PATH = "/settings/audit";
const TITLE = "Audit";
const CSV = { name: "audit.csv", title: "Download everything shown by this filter as CSV" };
const LIMIT = 50;
const FILTERS = ["who", "action", "from", "to"] as const;

type Data = {
  actions: ListedAction[];
  /** Where the page after this one begins; null = this is the last. */
  next: string | null;
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
    const caller = await call.caller();
    const page = { after: call.query["cursor"] ?? null, limit: LIMIT + 1 };
    const found = await showAudit(caller, textInput(call.query), page).catch(refuseAtFields);
    const actions = found.slice(0, LIMIT);
    const next = found.length > LIMIT ? (actions.at(-1)?.cursor ?? null) : null;
    const list = await readList(memberList, caller);
    const people = list.map(({ user_id: id, name }) => ({ actor: userName(id), name }));
    return { actions, next, people, kept: keptAuditText(caller.retention) };
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
        const pieces = await auditCsv(await caller(), textInput(Object.fromEntries(sent)));
        const file = { name: `audit_${shopDomain}.csv`, type: "text/csv; charset=utf-8" };
        return { file: { ...file, body: Readable.from(pieces) } };
      },
    },
  ],
});

/** An invalid filter is reported at its field. */
function refuseAtFields(error: unknown): never {
  const isOfFields = error instanceof Refusal && error.problems.length > 0;
  throw isOfFields ? invalidParameters(error.problems) : error;
}

/** Rights to read, which the audit does not record. */
const READS = /\.read(?:_all)?$/u;

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
  const words = Object.entries(AUDIT_WORDS)
    .filter(([name]) => !READS.test(name))
    .toSorted(([, one], [, other]) => (one < other ? -1 : 1));
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
