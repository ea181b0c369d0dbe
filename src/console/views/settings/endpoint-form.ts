import { randomUUID } from "node:crypto";
import { ALERT_CATEGORIES, ALERT_SEVERITIES } from "../../../control/notify-input.ts";
import { html } from "../../../lib/html.ts";
import type { Html } from "../../../lib/html.ts";
import type { PageCall } from "../../page.ts";
import { filledIn, refusal, selectField, textField } from "../form.ts";
import { CATEGORY_TEXTS, hourText, KIND_TEXTS } from "./endpoint-words.ts";

const HOURS = Array.from({ length: 24 }, (_, hour) => [String(hour), `daily at ${hourText(hour)}`] as const);

/** The form that adds an endpoint. */
export function endpointForm(
  call: PageCall,
  { action, path, hasMail }: { action: string; path: string; hasMail: boolean },
): Html {
  const kinds = (["webhook", "slack", "email"] as const).filter((kind) => kind !== "email" || hasMail);
  return html`<h2>Send alerts somewhere</h2>
    ${refusal(call, action)}
    ${!hasMail && html`<p class="note">This service sends no e-mail: its operator has not set it up.</p>`}
    <form method="post" action="${call.href(path)}">
      <input type="hidden" name="request_key" value="${filledIn(call, action, "request_key", randomUUID())}" />
      ${textField(call, action, { name: "name", label: "Name", hint: "What receives it, such as “ticket system”. 1 to 100 characters." })}
      ${selectField(call, action, { name: "kind", label: "What it is", value: "webhook", options: kinds.map((kind) => [kind, KIND_TEXTS[kind]] as const) })}
      ${textField(call, action, { name: "address", label: "Address", hint: hasMail ? "It begins with https://, or is an e-mail address." : "It begins with https://." })}
      <fieldset>
        <legend>Severities</legend>
        ${ALERT_SEVERITIES.map((severity) => box(call, action, "severity", severity, severity))}
      </fieldset>
      <fieldset>
        <legend>About</legend>
        ${ALERT_CATEGORIES.map((category) => box(call, action, "category", category, CATEGORY_TEXTS[category] ?? category))}
      </fieldset>
      ${selectField(call, action, { name: "digest_hour", label: "When", value: "", hint: "A digest by e-mail or chat is one message; a webhook receives each alert by itself.", options: [["", "at once"], ...HOURS] })}
      <button>Add</button>
    </form>`;
}

/** Every box is chosen until a form was refused. */
function box(call: PageCall, action: string, name: string, value: string, text: string): Html {
  const { refusedForm } = call;
  const isChosen = refusedForm?.action !== action || refusedForm.values.getAll(name).includes(value);
  return html`<p>
    <label class="check"
      ><input type="checkbox" name="${name}" value="${value}" ${isChosen && html` checked=""`} /> ${text}</label
    >
  </p>`;
}
