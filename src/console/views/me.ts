import type { MyAccount, MyPasskey, MySession } from "../../control/me.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { instant } from "../format.ts";
import type { RefusedForm } from "../page.ts";
import { passkeyForm } from "../passkey-form.ts";
import { refusal, textField } from "./form.ts";
import type { FormPlace } from "./form.ts";

/** What the page of one's own account shows. */
export type MePage = {
  account: MyAccount;
  name: string;
  /** They proved within ten minutes who they are. */
  isFresh: boolean;
  /** On https, where the last passkey is the only way in. */
  isPublic: boolean;
  refusedForm: RefusedForm | null;
};

export function meBody(page: MePage): Html {
  const place: FormPlace = { refusedForm: page.refusedForm, problems: [], href: () => "/me" };
  return html`<h1>Your account</h1>
    ${!page.isFresh && page.refusedForm === null && TO_CHANGE} ${nameForm(page, place)} ${passkeys(page, place)}
    ${sessions(page, place)}`;
}

const TO_CHANGE = html`<p class="banner">
  To change anything here, <a href="/prove?next=%2Fme">confirm that it is you</a>.
</p>`;

function nameForm({ name }: MePage, place: FormPlace): Html {
  return html`<section>
    <h2>Name</h2>
    ${refusal(place, "me.rename")}
    <form method="post" action="/me/name">
      ${textField(place, "me.rename", { name: "name", label: "What others here see", value: name })}
      <button>Change the name</button>
    </form>
  </section>`;
}

function passkeys(page: MePage, place: FormPlace): Html {
  const { passkeys: own } = page.account;
  return html`<section>
    <h2>Passkeys</h2>
    ${refusal(place, "passkey.remove")}
    ${
      own.length === 0
        ? html`<p>You have none yet. A passkey signs you in with your fingerprint, your face or a PIN.</p>`
        : html`<ul class="entries">
            ${own.map((passkey) => passkeyItem(passkey, page))}
          </ul>`
    }
    <h3>Add a passkey</h3>
    ${refusal(place, "passkey.add")}
    ${passkeyForm({
      action: "/me/passkeys",
      kind: "create",
      button: "Add a passkey",
      fields: html`${textField(place, "passkey.add", {
        name: "name",
        label: "What you call it",
        hint: "such as laptop, phone or security key",
      })}
      ${endOthersBox("add")}`,
    })}
  </section>`;
}

function passkeyItem({ id, name, rpId, createdAt, lastUsedAt }: MyPasskey, page: MePage): Html {
  const isLast = page.account.passkeys.length === 1;
  return html`<li>
    <strong>${name}</strong> <small>for ${rpId}</small><br />
    Made ${time(createdAt)}, ${lastUsedAt === null ? "not used since" : html`last used ${time(lastUsedAt)}`}.
    <details>
      <summary>Remove ${name}</summary>
      <form method="post" action="/me/passkeys/remove">
        <input type="hidden" name="id" value="${id}" />
        ${isLast && page.isPublic && LAST_ONE} ${endOthersBox(id)}
        <button class="quiet">Remove ${name}</button>
      </form>
    </details>
  </li>`;
}

const LAST_ONE = html`<p>This is your last passkey. Without it, only a new link signs you in.</p>
  <p class="check">
    <input id="knows" type="checkbox" name="knows" value="yes" />
    <label for="knows">I know that I then need a link from an owner or an operator</label>
  </p>`;

/** Who adds or removes a passkey may have lost a device, or found a stranger's. */
function endOthersBox(place: string): Html {
  return html`<p class="check">
    <input id="end-others-${place}" type="checkbox" name="end_others" value="yes" />
    <label for="end-others-${place}">Also end my sign-ins in other browsers</label>
  </p>`;
}

function sessions({ account }: MePage, place: FormPlace): Html {
  return html`<section>
    <h2>Where you are signed in</h2>
    ${refusal(place, "session.end_other")}
    <ul class="entries">
      ${account.sessions.map(sessionItem)}
    </ul>
    ${
      account.sessions.length > 1 &&
      html`<form method="post" action="/me/sessions/end-others">
      <button>End all others</button>
    </form>`
    }
  </section>`;
}

function sessionItem({ id, createdAt, lastSeenAt, isThis }: MySession): Html {
  const began = instant(createdAt.toISOString());
  return html`<li>
    Since ${began}, last seen ${time(lastSeenAt)}
    ${
      isThis
        ? html`<span class="tag">this browser</span>`
        : html`<form method="post" action="/me/sessions/end">
            <input type="hidden" name="id" value="${id}" />
            <button class="quiet">End the one of ${began}</button>
          </form>`
    }
  </li>`;
}

function time(at: Date): Html {
  return html`<time datetime="${at.toISOString()}">${instant(at.toISOString())}</time>`;
}
