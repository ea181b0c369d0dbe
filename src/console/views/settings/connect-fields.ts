import type { ShownSource } from "../../../actions/sources/reads.ts";
import type { Source } from "../../../control/connect.ts";
import { html } from "../../../lib/html.ts";
import type { Html } from "../../../lib/html.ts";
import type { PageCall } from "../../page.ts";
import { areaField, textField } from "../form.ts";

/** A field of a source's own option begins so, so that it is never one of the form's others. */
export const OPTION_PREFIX = "option-";
export const SECRET_PREFIX = "secret-";

type Place = { source: Source; shown: ShownSource; mayNameAddress: boolean };

/** Which shop, and on this machine at which address. */
export function placeFields(call: PageCall, action: string, place: Place): Html[] {
  const { source, shown, mayNameAddress } = place;
  const { address } = source;
  const url = shown.settings["url"];
  const fields = [];
  if (address === null) {
    fields.push(
      textField(call, action, {
        name: "shop",
        label: `The shop’s name at ${source.title}`,
        value: shown.account ?? "",
        hint: "Such as my-store.myshopify.com.",
      }),
    );
  }
  if (mayNameAddress) {
    const usual = address ?? (shown.account === null ? null : `https://${shown.account}`);
    fields.push(
      textField(call, action, {
        name: "address",
        label: "Another address",
        value: typeof url === "string" && url !== usual ? url : "",
        hint: "Of a simulator on this machine; empty otherwise.",
        isRequired: false,
      }),
    );
  }
  return fields;
}

/** The key, and what may come with it. They are never shown again. */
export function secretFields(call: PageCall, action: string, { source, shown }: Place): Html[] {
  const { key, otherSecrets } = source;
  return [
    textField(call, action, {
      name: `${SECRET_PREFIX}${key.secret}`,
      label: capital(key.title),
      type: "password",
      hint: "It is tried first, then stored encrypted, and never shown again.",
    }),
    ...otherSecrets.map(({ secret, title, description }) =>
      textField(call, action, {
        name: `${SECRET_PREFIX}${secret}`,
        label: capital(title),
        type: "password",
        hint:
          shown.state === "new" ? `${description} It may be left out.` : `${description} Empty: as before.`,
        isRequired: false,
      }),
    ),
  ];
}

/** The source's own options, which have a usual value each. */
export function optionFields(call: PageCall, action: string, { source, shown }: Place): Html | null {
  if (source.options.length === 0) return null;
  const fields = source.options.map(({ setting, label, description, isList }) => {
    const value = shown.settings[setting];
    const field = { name: `${OPTION_PREFIX}${setting}`, label, isRequired: false };
    const hint = `${capital(description)}.`;
    if (!isList) {
      return textField(call, action, { ...field, hint, value: typeof value === "string" ? value : "" });
    }
    const lines = Array.isArray(value) ? value.join("\n") : "";
    return areaField(call, action, { ...field, hint: `${hint} One a line.`, value: lines });
  });
  const isFilledIn = call.refusedForm?.action === action;
  return html`<details ${isFilledIn && html` open=""`}>
    <summary>How products are sorted</summary>
    ${fields}
  </details>`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
