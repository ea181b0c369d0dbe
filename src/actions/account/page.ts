import type { FastifyReply } from "fastify";
import type { ProviderAccount } from "../../access/provider.ts";
import { isFreshProof } from "../../access/session.ts";
import { REFUSALS } from "../../access/sign-in.ts";
import { formOf } from "../../console/form-scope.ts";
import { isoInstant } from "../../console/format.ts";
import {
  formPlace,
  forSender,
  forVisitor,
  leadOn,
  ownCaller,
  passkeyOptions,
  passkeySiteOf,
  showOwn,
  type OwnRequest,
  type RefusedAction,
  type RouteHandler,
  type Routes,
  type SessionContext,
} from "../../console/session-context.ts";
import { actionForm, passkeyForm, refusal, textField, type FormPlace } from "../../console/views/form.ts";
import { html, type Html } from "../../lib/html.ts";
import { listPasskeys, listSessions } from "../../store/queries/console-user.ts";
import type { ListedPasskey, ListedSession } from "../../store/queries/console-user.ts";
import { findAccountOf, type LinkedAccount } from "../../store/queries/provider-account.ts";
import { runAction, type Action } from "../action.ts";
import { formInput, textInput, type Fields } from "../field.ts";
import { requireRight } from "../right.ts";
import {
  addPasskey,
  endSession,
  linkAccount,
  NO_PASSKEYS_HERE,
  OTHERS,
  removePasskey,
  renameSelf,
  sessionIdOf,
  unlinkAccount,
} from "./actions.ts";
import type { AccountCaller } from "./actions.ts";

const PATH = "/me";

/** One's own account: name, passkeys, running sessions. */
export function accountRoutes(context: SessionContext): Routes {
  return {
    [PATH]: { get: forVisitor(context, (own) => show(context, own)) },
    [`${PATH}/name`]: { post: createPost(context, renameSelf) },
    [`${PATH}/passkeys`]: { post: createPost(context, addPasskey) },
    [`${PATH}/passkeys/options`]: {
      post: passkeyOptions(context, async (request, site) => {
        const visitor = await context.signedIn(request);
        if (visitor === null) return REFUSALS.signed_out;
        requireRight(ownCaller(context, { request, visitor }, "person").actor, addPasskey);
        const { userId, name } = visitor.person;
        return context.identity.enrolmentOf({ userId, name, site });
      }),
    },
    [`${PATH}/passkeys/remove`]: { post: createPost(context, removePasskey) },
    [`${PATH}/account/unlink`]: { post: createPost(context, unlinkAccount) },
    [`${PATH}/sessions/end`]: { post: createPost(context, endSession) },
    [`${PATH}/sessions/end-others`]: { post: createPost(context, endSession, { id: OTHERS }) },
  };
}

/** Links the account with which somebody has come back from the identity provider. */
export const linkPost = (context: SessionContext, account: ProviderAccount): RouteHandler =>
  createPost(context, linkAccount, {}, { account });

/** Runs an action with a form's values, or with `fixed`; a form may also ask to end the other sessions. */
function createPost<Inputs extends Fields, Result, Prepared>(
  context: SessionContext,
  action: Action<Inputs, Result, AccountCaller, Prepared>,
  fixed: Readonly<Record<string, string>> = {},
  more: Pick<AccountCaller, "account"> = {},
): RouteHandler {
  return forSender(
    context,
    async (own) => {
      const fields = formOf(own.request);
      const caller = { ...callerOf(context, own), ...more };
      const given = formInput((field) => (field in fixed ? [fixed[field] ?? ""] : fields.getAll(field)));
      const sentences = [(await runAction(action, caller, given)).done];
      if (fields.get("end_others") === "yes") {
        sentences.push((await runAction(endSession, caller, textInput({ id: OTHERS }))).done);
      }
      return leadOn(context, own.reply, sentences.join(" "), PATH);
    },
    (own, refused) => show(context, own, { action, refused }),
  );
}

function callerOf(context: SessionContext, own: OwnRequest): AccountCaller {
  return {
    ...ownCaller(context, own, "person"),
    site: passkeySiteOf(own.request, context.site),
    isPublic: context.site.publicOrigin !== null,
  };
}

/** `linked`: at the provider of today; null = none. */
type MyAccount = { passkeys: ListedPasskey[]; sessions: ListedSession[]; linked: LinkedAccount | null };

async function show(context: SessionContext, own: OwnRequest, form?: RefusedAction): Promise<FastifyReply> {
  const { request, visitor } = own;
  const { person, sessionHash } = visitor;
  const { database, provider } = context.control;
  const account: MyAccount = {
    passkeys: await listPasskeys(database, person.userId),
    sessions: await listSessions(database, person.userId, context.now()),
    linked: provider && (await findAccountOf(database, person.userId, provider.issuer)),
  };
  const isFresh = isFreshProof(person.authenticatedAt, context.now());
  const place = formPlace(request, PATH, form);
  const isPublic = context.site.publicOrigin !== null;
  const host = passkeySiteOf(request, context.site) === null ? (request.headers.host ?? "") : null;
  const body = html`<h1>Your account</h1>
    ${!isFresh && form === undefined && TO_CHANGE} ${nameForm(person.name, place)}
    ${passkeys(account, place, { isPublic, host })}
    ${provider !== null && singleSignOn(account, place, { provider: provider.name, isPublic })} ${sessions(account, sessionHash, place)}`;
  return showOwn(context, own, { title: "Your account", body, refused: form?.refused });
}

const TO_CHANGE = html`<p class="banner">
  <a href="/confirm?next=%2Fme">Confirm your identity</a> to change anything here.
</p>`;

function nameForm(value: string, place: FormPlace): Html {
  const label = "The name that others see";
  const field = textField(place, renameSelf.name, { name: "name", label, value });
  return html`<section>
    <h2>Name</h2>
    ${refusal(place, renameSelf.name)} ${actionForm(place, { path: "/me/name", button: renameSelf.title }, [field])}
  </section>`;
}

/** `host`: a name under which no browser has passkeys; null = they work here. */
function passkeys(
  { passkeys: own, linked }: MyAccount,
  place: FormPlace,
  { isPublic, host }: { isPublic: boolean; host: string | null },
): Html {
  const { label, hint = "" } = addPasskey.input.name;
  return html`<section>
    <h2>Passkeys</h2>
    ${refusal(place, removePasskey.name)}
    ${
      own.length === 0
        ? html`<p>No passkeys yet. A passkey signs you in with your fingerprint, your face or a PIN.</p>`
        : html`<ul class="entries">
            ${own.map((passkey) => passkeyItem(passkey, place, isPublic && own.length === 1 && linked === null))}
          </ul>`
    }
    <h3>${addPasskey.title}</h3>
    ${refusal(place, addPasskey.name)}
    ${
      host !== null
        ? html`<p>
            ${NO_PASSKEYS_HERE} <a href="http://localhost${/:\d+$/u.exec(host)?.[0] ?? ""}/me">Open this page there</a>, and
            sign in with a new link.
          </p>`
        : passkeyForm({
            action: "/me/passkeys",
            kind: "create",
            button: addPasskey.title,
            fields: html`${textField(place, addPasskey.name, { name: "name", label, hint })} ${END_OTHERS}`,
          })
    }
  </section>`;
}

function passkeyItem(passkey: ListedPasskey, place: FormPlace, isLastWayIn: boolean): Html {
  const { name, rp_id: host, created_at: addedAt, last_used_at: usedAt } = passkey;
  const id = passkey.credential_id.toString("base64url");
  const button = `Remove ${name}`;
  const form = { path: "/me/passkeys/remove", button, variant: "quiet", kept: { id } } as const;
  return html`<li>
    <strong>${name}</strong> <small>for ${host}</small><br />
    Added ${time(addedAt)}, ${usedAt === null ? "not used since" : html`last used ${time(usedAt)}`}.
    <details>
      <summary>${button}</summary>
      ${actionForm(place, form, [isLastWayIn && LAST_ONE, END_OTHERS])}
    </details>
  </li>`;
}

const tickBox = (name: string, text: string): Html =>
  html`<label class="check"><input type="checkbox" name="${name}" value="yes" /> ${text}</label>`;

const KNOWS = tickBox("knows", removePasskey.input.knows.label);
const LAST_ONE = html`<p>This is your last passkey. Without it, only a new link signs you in.</p>
  ${KNOWS}`;
/** Somebody who adds or removes a passkey may have lost a device, or found an unknown one. */
const END_OTHERS = tickBox("end_others", "Also end my sessions in other browsers");

function singleSignOn(
  { linked, passkeys: own }: MyAccount,
  place: FormPlace,
  { provider, isPublic }: { provider: string; isPublic: boolean },
): Html {
  return html`<section>
    <h2>Single sign-on</h2>
    ${refusal(place, linkAccount.name)} ${refusal(place, unlinkAccount.name)}
    ${
      linked === null
        ? html`<p>Link your account at ${provider} to sign in with it.</p>
            ${actionForm(place, { path: "/sign-in/provider", button: linkAccount.title, kept: { next: PATH } })}`
        : html`<p>
              Linked at ${provider}: <strong>${linked.email ?? linked.subject}</strong>, since ${time(linked.linked_at)}, last
              used ${time(linked.last_used_at)}.
            </p>
            ${actionForm(place, { path: "/me/account/unlink", button: unlinkAccount.title, variant: "quiet" }, [isPublic && own.length === 0 && KNOWS])}`
    }
  </section>`;
}

function sessions({ sessions: own }: MyAccount, thisHash: Buffer, place: FormPlace): Html {
  const endOthers = { path: "/me/sessions/end-others", button: "End all other sessions" };
  return html`<section>
    <h2>Where you are signed in</h2>
    ${refusal(place, endSession.name)}
    <ul class="entries">
      ${own.map((session) => sessionItem(session, place, session.session_hash.equals(thisHash)))}
    </ul>
    ${own.length > 1 && actionForm(place, endOthers)}
  </section>`;
}

function sessionItem(session: ListedSession, place: FormPlace, isThis: boolean): Html {
  const began = isoInstant(session.created_at);
  const kept = { id: sessionIdOf(session.session_hash) };
  const end = {
    path: "/me/sessions/end",
    button: `End session of ${began}`,
    variant: "quiet",
    kept,
  } as const;
  return html`<li>
    Since ${began}, last seen ${time(session.last_seen_at)}
    ${isThis ? html`<span class="tag">this browser</span>` : actionForm(place, end)}
  </li>`;
}

function time(at: Date): Html {
  return html`<time datetime="${at.toISOString()}">${isoInstant(at)}</time>`;
}
