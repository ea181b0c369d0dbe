import { formOf } from "../../console/action-form.ts";
import { count } from "../../console/format.ts";
import { definePage, type PageCall } from "../../console/page.ts";
import { actionForm, boxes, refusal } from "../../console/views/form.ts";
import { dataTable } from "../../console/views/table.ts";
import { REASON_GROUP_WORDS } from "../../contract/report-fit.ts";
import { html, type Html } from "../../lib/html.ts";
import { dayOfInstant, monthOfDay } from "../../lib/month.ts";
import { folded } from "../../metrics/order-rules.ts";
import { groupsByReason, proposedGroup, REASON_GROUPS } from "../../metrics/reason-groups.ts";
import type { ReasonGroup } from "../../metrics/reason-groups.ts";
import { findReasonGroups } from "../../store/queries/fit.ts";
import { mayDo, readSettings } from "../right.ts";
import { listStatedReasons } from "./queries.ts";
import { LONGEST_REASON, setReasons } from "./reasons.ts";

const PATH = "/settings/reasons";
const TITLE = "Return reasons";
const MONTHS = 12;

type Row = {
  reason: string;
  returnedUnits: number;
  group: ReasonGroup;
  /** The note for a reason without a saved group. */
  note: "" | "proposed" | "in no group";
};

/** Which group each of the workspace's reasons belongs to (M22). */
const reasons = definePage<readonly Row[]>({
  name: "reasons",
  path: PATH,
  right: readSettings,
  link: TITLE,
  takes: [],
  about: async () => "Which return reasons mean “too small”, “damaged” and so on.",
  data: async (call) => {
    const { database, workspace, now } = await call.caller();
    const { shop_key: shopKey, data_as_of: asOf } = workspace;
    const month = monthOfDay(dayOfInstant((asOf ?? now).getTime())) - (MONTHS - 1);
    const stored = new Map(Object.entries((await findReasonGroups(database, shopKey)) ?? {}));
    const known = groupsByReason({});
    const listed = await listStatedReasons(database, shopKey, { month, longest: LONGEST_REASON });
    return listed.map(({ reason, returned_units: returnedUnits }) => {
      const certain = (stored.get(folded(reason)) as ReasonGroup | undefined) ?? known.get(folded(reason));
      if (certain !== undefined) return { reason, returnedUnits, group: certain, note: "" };
      const group = proposedGroup(reason);
      return {
        reason,
        returnedUnits,
        group: group ?? "other",
        note: group === null ? "in no group" : "proposed",
      };
    });
  },
  view: (rows, call) => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1>
      ${LEAD} ${rows.length === 0 ? html`<p>No return of these months has a reason.</p>` : part(rows, call)}`,
  }),
});

const LEAD = html`<p class="lead">
  Whether a product runs small is told by the reasons of its returns. Below are those of the last
  ${MONTHS} months of orders. A proposed group counts only once you save it; until then the reason counts as other.
</p>`;

export const REASON_PAGES = [reasons] as const;

export const REASON_FORMS = [formOf(setReasons, { path: PATH, page: reasons })];

function part(rows: readonly Row[], call: PageCall): Html {
  const isOffered = mayDo(call.role, setReasons);
  const table = dataTable(
    "Reasons and their groups",
    [{ text: "Reason" }, { text: "Units returned", isNumber: true }, { text: "Group" }],
    rows.map((row) => [
      html`${row.reason}`,
      html`${count(row.returnedUnits)}`,
      html`${isOffered ? select(row, call) : REASON_GROUP_WORDS[row.group]} ${row.note !== "" && html`<small>${row.note}</small>`}`,
    ]),
  );
  if (!isOffered) return html`${refusal(call, setReasons.name)}${table}`;
  const [name, { label }] = ["reasons", setReasons.input.reasons];
  const fields = [boxes(call, setReasons.name, { name, legend: label }, [table])];
  return html`${refusal(call, setReasons.name)}${actionForm(call, { path: PATH, button: setReasons.title }, fields)}`;
}

/** A refused form keeps its selections. */
function select({ reason, group }: Row, { refusedForm }: PageCall): Html {
  const isRefused = refusedForm?.action === setReasons.name;
  const chosen = isRefused ? refusedForm.values.getAll("reasons") : [];
  const valueOf = (each: ReasonGroup): string => `${reason}=${each}`;
  const current = REASON_GROUPS.find((each) => chosen.includes(valueOf(each))) ?? group;
  return html`<select name="reasons" aria-label="Group of ${reason}" ${isRefused && html` aria-invalid="true"`}>
    ${REASON_GROUPS.map(
      (each) =>
        html`<option value="${valueOf(each)}" ${each === current && html` selected=""`}>
          ${REASON_GROUP_WORDS[each]}
        </option>`,
    )}
  </select>`;
}
