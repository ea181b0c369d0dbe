import { html, type Html, type HtmlValue } from "../../lib/html.ts";
import type { PageCall, PageParameters } from "../page.ts";

/** The parts of a page that its forms use. */
export type FormPlace = Pick<PageCall, "refusedForm" | "href" | "problems">;

/** Common to all fields; `value` is shown unless a refused form has another value. */
type Labelled = {
  name: string;
  label: string;
  value?: string;
  /** The allowed values in a few words. */
  hint?: string;
};

type InputField = Labelled & {
  type?: "text" | "number" | "decimal" | "date" | "month" | "password" | "search";
  isRequired?: boolean;
};

/** One of a list; without script, too, only these can be sent. */
type SelectField = Labelled & { options: readonly (readonly [value: string, text: string])[] };

/** Text of several lines. */
type AreaField = Labelled & { isRequired?: boolean };

/** A form's values besides its fields, and its button's label. */
export type ActionForm = {
  /** Below /w/<shop_domain>. */
  path: string;
  button: string;
  /** "quiet": one of many, such as a row's; "danger": it takes something away. */
  variant?: "quiet" | "danger";
  /** Sent unseen. */
  kept?: PageParameters;
  /** The question shown before the button appears; null: none. */
  question?: string | null;
  /** Whether the question is answered already, by a form that was refused. */
  isAnswered?: boolean;
};

/** Why the form of an action was refused: the action's own sentence. It takes the focus. */
export function refusal({ refusedForm, href }: FormPlace, action: string): Html | null {
  if (refusedForm?.action !== action) return null;
  const { kind, message } = refusedForm.refusal;
  return html`<p class="banner refused" role="alert" tabindex="-1" autofocus>
    ${message}${kind === "unconfirmed" && html` <a href="/confirm?next=${encodeURIComponent(href(""))}" target="_blank">Confirm, then press the button again</a>.`}
  </p>`;
}

/** A refused form's value of a name, else `value`. */
export function filledIn({ refusedForm }: FormPlace, action: FormName, name: string, value = ""): string {
  return refusedForm?.action === action ? (refusedForm.values.get(name) ?? "") : value;
}

/** A form with only a button, or with `fields`. */
export function actionForm({ href }: FormPlace, form: ActionForm, fields: readonly HtmlValue[] = []): Html {
  const { path, button, variant, kept = {}, question = null, isAnswered = false } = form;
  const shown = html`<form method="post" action="${href(path)}">
    ${hiddenFields(kept)}${fields}<button ${variant !== undefined && html` class="${variant}"`}>${button}</button>
  </form>`;
  if (question === null) return shown;
  return html`<details ${isAnswered && html` open=""`}>
    <summary>${button}</summary>
    <p>${question}</p>
    ${shown}
  </details>`;
}

/** Values that a form sends unseen. */
export function hiddenFields(kept: PageParameters): (Html | false)[] {
  return Object.entries(kept).map(
    ([name, value]) =>
      value !== undefined && html`<input type="hidden" name="${name}" value="${String(value)}" />`,
  );
}

/** Why a field was refused, in a form or in a query; null = it was not. */
export function problemOf(call: FormPlace, action: FormName, name: string): string | null {
  const { refusedForm } = call;
  const ofForm = refusedForm?.action === action ? refusedForm.refusal.problems : [];
  return wrongOf(call, name) ?? ofForm.find((problem) => problem.name === name)?.sentence ?? null;
}

/** Checkboxes or radios of one field, with its error. A group has no `aria-invalid`; a group of radios has. */
export function boxes(
  call: FormPlace,
  action: string,
  { name, legend, isOne = false }: { name: string; legend: string; isOne?: boolean },
  content: readonly Html[],
): Html {
  const wrong = problemOf(call, action, name);
  const id = idOf(action, name);
  return html`<fieldset ${wrong !== null && isOne && html` role="radiogroup" aria-invalid="true"`} ${wrong !== null && html` aria-describedby="${id}-hint"`}>
    <legend>${legend}</legend>
    ${content} ${wrong !== null && html`<small id="${id}-hint" class="wrong">${wrong}</small>`}
  </fieldset>`;
}

/** The action whose form it is; null = the form of a query. */
type FormName = string | null;

/** One field of a form. A password is not shown again; a query's error is next to its field. */
export function textField(call: FormPlace, action: FormName, field: InputField): Html {
  const { name, type = "text", isRequired = true } = field;
  const id = idOf(action, name);
  const value = type === "password" ? "" : filledIn(call, action, name, field.value);
  const wrong = problemOf(call, action, name);
  const isOfType = (SHOWN_BY[type] ?? /^/u).test(value) && (action !== null || wrong === null);
  const isShown = type !== "decimal" && (value === "" || isOfType);
  return labelled(
    id,
    { ...field, wrong },
    html`<input
      id="${id}"
      name="${name}"
      type="${isShown ? type : "text"}"
      value="${value}"
      ${action !== null && html` autocomplete="off"`}
      ${type === "decimal" && html` inputmode="decimal"`}
      ${type === "month" && html` pattern="[0-9]{4}-[0-9]{2}" placeholder="2026-01"`}
      ${isRequired && html` required=""`}
      ${wrong !== null && html` aria-invalid="true"`} ${(wrong !== null || field.hint !== undefined) && html` aria-describedby="${id}-hint"`}
    />`,
  );
}

/** Such a field would drop any other value. */
const SHOWN_BY: Readonly<Record<string, RegExp>> = {
  number: /^\d+$/u,
  date: /^\d{4}-\d{2}-\d{2}$/u,
  month: /^\d{4}-\d{2}$/u,
};

export function selectField(call: FormPlace, action: FormName, field: SelectField): Html {
  const { name, options } = field;
  const id = idOf(action, name);
  const value = filledIn(call, action, name, field.value);
  const wrong = problemOf(call, action, name);
  return labelled(
    id,
    { ...field, wrong },
    html`<select id="${id}" name="${name}" ${wrong !== null && html` aria-invalid="true"`} ${(wrong !== null || field.hint !== undefined) && html` aria-describedby="${id}-hint"`}>
      ${options.map(
        ([each, text]) =>
          html`<option value="${each}" ${each === value && html` selected=""`}>${text}</option>`,
      )}
    </select>`,
  );
}

export function areaField(call: FormPlace, action: string, field: AreaField): Html {
  const { name, isRequired = true } = field;
  const id = idOf(action, name);
  const value = filledIn(call, action, name, field.value);
  const wrong = problemOf(call, action, name);
  // A browser leaves out the first line break of a text area.
  return labelled(
    id,
    { ...field, wrong },
    html`<textarea id="${id}" name="${name}" rows="5" autocomplete="off" ${isRequired && html` required=""`} ${wrong !== null && html` aria-invalid="true"`} ${(wrong !== null || field.hint !== undefined) && html` aria-describedby="${id}-hint"`}>${`\n${value}`}</textarea>`,
  );
}

function labelled(
  id: string,
  { label, hint, wrong = null }: Labelled & { wrong?: string | null },
  control: Html,
): Html {
  return html`<p class="field">
    <label for="${id}">${label}</label>
    ${control}
    ${(wrong ?? hint) !== undefined && html`<small id="${id}-hint" ${wrong !== null && html` class="wrong"`}>${wrong ?? hint}</small>`}
  </p>`;
}

function idOf(action: FormName, name: string): string {
  return action === null ? name : `${action}-${name}`.replaceAll(/[^a-z-]/gu, "-");
}

/** A form that the browser fills in with a passkey: made, or signed with. */
type PasskeyForm = {
  action: string;
  /** "create" makes a passkey, "get" signs with one. */
  kind: "create" | "get";
  button: string;
  /** Other fields, which the address of the options is sent, too. */
  fields?: Html | null;
};

/** The options are at the form's address with `/options`. */
export function passkeyForm({ action, kind, button, fields = null }: PasskeyForm): Html {
  return html`<form method="post" action="${action}" data-passkey="${kind}" data-options="${action}/options">
    ${fields}
    <input type="hidden" name="credential" />
    <p class="banner refused" role="alert" hidden></p>
    <noscript><p class="banner warn">Passkeys need JavaScript, which is off in this browser.</p></noscript>
    <button>${button}</button>
  </form>`;
}

/** How a person without a way to sign in gets a link. */
export const HOW_TO_GET_A_LINK = html`<p>Run this on the service's machine, and open the link that it prints:</p>
  <pre tabindex="0"><code>./returns user link</code></pre>
  <p>The link works once, within 10 minutes.</p>`;

/** Form labels of the parameters that a person fills in, or that a page's link carries. */
const LABELS: Readonly<Record<string, string>> = {
  start_month: "First month of orders",
  end_month: "Last month of orders",
  window: "Returned within",
  min_cost: "Cost at least",
  min_sold_units: "Sold units, at least,",
  min_return_rate: "Return rate",
  limit: "Rows",
  vendor: "Vendor",
  q: "Search",
  sku: "SKU",
  product_gid: "Product",
  product_group_key: "Group",
};

/**
 * A sentence of the API in the words of pages. One about a name that a page does not take, or takes once, is about the
 * address and stays as it is.
 */
export function inPageWords(sentence: string): string {
  const [first = ""] = sentence.split(" ", 1);
  if (sentence.endsWith(" data_export.")) return sentence.replace("data_export", "downloads as CSV");
  const label = Object.hasOwn(LABELS, first) ? LABELS[first] : undefined;
  if (label === undefined || / is not a parameter | given once only/u.test(sentence)) return sentence;
  return `${label}${sentence.slice(first.length)}`
    .replaceAll(/\bend_month\b/gu, "last month of orders")
    .replace(/; take \w+ from \S+\.$/u, "; see the page Products.");
}

/** The API's sentence about a field; null = it takes the value. */
export function wrongOf({ problems }: Pick<PageCall, "problems">, name: string): string | null {
  return problems.find((problem) => problem.name === name)?.sentence ?? null;
}

/** All that the API refused, each sentence linked to its field where the form has it. It takes the focus. */
export function problemSummary(
  call: FormPlace,
  path: string,
  fields: readonly { name: string }[],
): Html | null {
  const { problems } = call;
  if (problems.length === 0) return null;
  return html`<div class="banner refused" role="alert" tabindex="-1" autofocus>
    <p><strong>This view cannot be shown.</strong> Everything you entered is still in the form.</p>
    <ul>
      ${problems.map(({ name, sentence }) => {
        const hasField = fields.some((field) => field.name === name);
        return html`<li>${hasField ? html`<a href="#${name}">${sentence}</a>` : sentence}</li>`;
      })}
    </ul>
    <p><a href="${call.href(path)}">Start again without filters</a></p>
  </div>`;
}
