import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import type { PageCall } from "../page.ts";

/** What a form has to know of the page that it stands on. */
export type FormPlace = Pick<PageCall, "refusedForm" | "href">;

/** A field with its label; `value` is what stands in it unless a refused form held another. */
export type Field = {
  name: string;
  label: string;
  value?: string;
  /** What is allowed, in a few words. */
  hint?: string;
  type?: "text" | "number" | "date" | "password";
  isRequired?: boolean;
};

/** Why the form of an action was refused: the use case's own sentence. It takes the focus. */
export function refusal({ refusedForm, href }: FormPlace, action: string): Html | null {
  if (refusedForm?.action !== action) return null;
  const { kind, message } = refusedForm.refusal;
  return html`<p class="banner refused" role="alert" tabindex="-1" autofocus>
    ${message}${kind === "unproved" && html` <a href="/prove?next=${href("")}" target="_blank">Confirm, then press again</a>.`}
  </p>`;
}

/** What a refused form held under a name, else `value`. A password is not shown again. */
export function filledIn({ refusedForm }: FormPlace, action: string, name: string, value = ""): string {
  return refusedForm?.action === action ? (refusedForm.values.get(name) ?? "") : value;
}

/** One field of the form of an action. */
export function textField(call: FormPlace, action: string, field: Field): Html {
  const { name, label, hint, type = "text", isRequired = true } = field;
  const id = `${action}-${name}`.replaceAll(/[^a-z-]/gu, "-");
  const value = type === "password" ? "" : filledIn(call, action, name, field.value);
  return html`<p class="field">
    <label for="${id}">${label}</label>
    <input
      id="${id}"
      name="${name}"
      type="${type}"
      value="${value}"
      autocomplete="off"
      ${isRequired && html` required=""`}
      ${hint !== undefined && html` aria-describedby="${id}-hint"`}
    />
    ${hint !== undefined && html`<small id="${id}-hint">${hint}</small>`}
  </p>`;
}
