import type { FastifyReply, FastifyRequest } from "fastify";
import type { ProviderAccount } from "../../access/provider.ts";
import { isFreshProof } from "../../access/session.ts";
import { formOf } from "../../console/form-scope.ts";
import { isoInstant } from "../../console/format.ts";
import { createMinuteLimit, MOST_FORMS_PER_MINUTE, TOO_MANY_FORMS } from "../../console/minute-limit.ts";
import type { MinuteLimit } from "../../console/minute-limit.ts";
import { actorOf } from "../../console/page-call.ts";
import type { RefusedForm } from "../../console/page.ts";
import { passkeyForm, refusal, textField, type FormPlace } from "../../console/views/form.ts";
import { sendToProvider } from "../../console/provider-flow.ts";
import { passkeySiteOf, sendProblem, showOwn } from "../../console/session-context.ts";
import type { RouteHandler, Routes, SessionContext, Visitor } from "../../console/session-context.ts";
import { tooMany } from "../../console/state-page.ts";
import { html, type Html } from "../../lib/html.ts";
import { runAction, type Action } from "../action.ts";
import { formInput, textInput, type Fields } from "../field.ts";
import { Refusal, STATUS_OF_REFUSAL } from "../refusal.ts";
import { requireRight, SenderGone } from "../right.ts";
import {
  addPasskey,
  endSession,
  linkAccount,
  NO_PASSKEYS_HERE,
  OTHERS,
  removePasskey,
  renameSelf,
  showAccount,
  unlinkAccount,
} from "./actions.ts";
import type { AccountCaller, MyAccount, MyPasskey, MySession } from "./actions.ts";

const PATH = "/me";
const TOO_MANY = tooMany(TOO_MANY_FORMS, 60);

/** One's own account: name, passkeys, running sessions. */
export function accountRoutes(context: SessionContext): Routes {
  const admits = createMinuteLimit(MOST_FORMS_PER_MINUTE);
  const formAt = { context, admits };
  return {
    [PATH]: {
      get: async (request, reply) => {
        const visitor = await context.signedIn(request);
        return visitor === null
          ? context.toSignIn(request, reply)
          : show(context, { request, reply, visitor });
      },
    },
    [`${PATH}/name`]: { post: createPost(formAt, renameSelf) },
    [`${PATH}/passkeys`]: { post: createPost(formAt, addPasskey) },
    [`${PATH}/passkeys/options`]: { post: createOptions(context) },
    [`${PATH}/passkeys/remove`]: { post: createPost(formAt, removePasskey) },
    [`${PATH}/account/link`]: { post: createLinking(context) },
    [`${PATH}/account/unlink`]: { post: createPost(formAt, unlinkAccount) },
    [`${PATH}/sessions/end`]: { post: createPost(formAt, endSession) },
    [`${PATH}/sessions/end-others`]: { post: createPost(formAt, endSession, { id: OTHERS }) },
  };
}

/** Runs an action with a form's values, or with `fixed`; a form may also ask to end the other sessions. */
function createPost<Inputs extends Fields, Result, Prepared>(
  { context, admits }: { context: SessionContext; admits: MinuteLimit },
  action: Action<Inputs, Result, AccountCaller, Prepared>,
  fixed: Readonly<Record<string, string>> = {},
): RouteHandler {
  return async (request, reply) => {
    const visitor = await context.signedIn(request);
    if (visitor === null) return context.toSignIn(request, reply);
    const { userId, name } = visitor.person;
    if (!admits(userId, context.now()))
      return showOwn(context, request, reply, { ...TOO_MANY, userName: name });
    const fields = formOf(request);
    const given = formInput((field) => (field in fixed ? [fixed[field] ?? ""] : fields.getAll(field)));
    return orRefusal(context, { request, reply, visitor }, { action, values: fields }, async () => {
      const caller = callerOf(context, request, visitor);
      const sentences = [(await runAction(action, caller, given)).done];
      if (fields.get("end_others") === "yes") {
        sentences.push((await runAction(endSession, caller, textInput({ id: OTHERS }))).done);
      }
      return reply.header("Set-Cookie", context.done.write(sentences.join(" "))).redirect(PATH, 303);
    });
  };
}

/** The answer of `act`; a refusal shows the page again with the form, and a session that has ended leads to the sign-in. */
async function orRefusal(
  context: SessionContext,
  shown: Shown,
  { action, values }: { action: { name: string }; values: URLSearchParams },
  act: () => Promise<FastifyReply>,
): Promise<FastifyReply> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof SenderGone) return context.toSignIn(shown.request, shown.reply);
    if (!(error instanceof Refusal)) throw error;
    return show(context, { ...shown, refusedForm: { action: action.name, values, refusal: error } });
  }
}

/** Links the account with which somebody has come back from the identity provider. */
export async function sendLinked(
  context: SessionContext,
  shown: Shown,
  account: ProviderAccount,
): Promise<FastifyReply> {
  const { request, reply, visitor } = shown;
  return orRefusal(context, shown, { action: linkAccount, values: new URLSearchParams() }, async () => {
    const caller = { ...callerOf(context, request, visitor), account };
    const { done } = await runAction(linkAccount, caller, textInput({}));
    return reply.header("Set-Cookie", context.done.write(done)).redirect(PATH, 303);
  });
}

/** Sends somebody who may link an account to the identity provider, to sign in with it. */
function createLinking(context: SessionContext): RouteHandler {
  return async (request, reply) => {
    const visitor = await context.signedIn(request);
    if (visitor === null) return context.toSignIn(request, reply);
    const form = { action: linkAccount, values: formOf(request) };
    return orRefusal(context, { request, reply, visitor }, form, async () => {
      requireRight(callerOf(context, request, visitor).actor, linkAccount);
      const { userId } = visitor.person;
      return sendToProvider(context, reply, { purpose: "link", userId, next: PATH });
    });
  };
}

function callerOf(
  context: SessionContext,
  request: FastifyRequest,
  { person, sessionHash }: Visitor,
): AccountCaller {
  const now = context.now();
  const actor = actorOf(person, sessionHash, "person", request, now);
  return {
    ...context.control,
    actor: { ...actor, session: { userId: person.userId, sessionHash } },
    now,
    site: passkeySiteOf(request, context.site),
    isPublic: context.site.publicOrigin !== null,
  };
}

/** The browser's options to create another passkey. */
function createOptions(context: SessionContext): RouteHandler {
  return async (request, reply) => {
    const visitor = await context.signedIn(request);
    const site = passkeySiteOf(request, context.site);
    if (visitor === null) return sendProblem(request, reply, 403, "You are no longer signed in.");
    if (site === null) return sendProblem(request, reply, 403, NO_PASSKEYS_HERE);
    try {
      requireRight(callerOf(context, request, visitor).actor, addPasskey);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return sendProblem(request, reply, STATUS_OF_REFUSAL[error.kind], error.message);
    }
    const { userId, name } = visitor.person;
    return reply.send(await context.identity.enrolmentOf({ userId, name, site }));
  };
}

type Shown = { request: FastifyRequest; reply: FastifyReply; visitor: Visitor; refusedForm?: RefusedForm };

async function show(
  context: SessionContext,
  { request, reply, visitor, refusedForm }: Shown,
): Promise<FastifyReply> {
  const { person, sessionHash } = visitor;
  const now = context.now();
  const { database, provider } = context.control;
  const account = await showAccount(database, { userId: person.userId, sessionHash }, now, provider);
  const isFresh = isFreshProof(person.authenticatedAt, now);
  const place: FormPlace = { refusedForm: refusedForm ?? null, problems: [], href: () => PATH };
  const body = html`<h1>Your account</h1>
    ${!isFresh && refusedForm === undefined && TO_CHANGE} ${nameForm(person.name, place)}
    ${passkeys(account, place, { isPublic: context.site.publicOrigin !== null, host: passkeySiteOf(request, context.site) === null ? (request.headers.host ?? "") : null })}
    ${provider !== null && singleSignOn(account, place, { provider: provider.name, isPublic: context.site.publicOrigin !== null })} ${sessions(account, place)}`;
  const status = refusedForm === undefined ? 200 : STATUS_OF_REFUSAL[refusedForm.refusal.kind];
  const { name: userName } = person;
  const refused = refusedForm?.refusal.message;
  return showOwn(context, request, reply, { status, title: "Your account", body, userName, refused });
}

const TO_CHANGE = html`<p class="banner">
  <a href="/confirm?next=%2Fme">Confirm your identity</a> to change anything here.
</p>`;

function nameForm(value: string, place: FormPlace): Html {
  return html`<section>
    <h2>Name</h2>
    ${refusal(place, renameSelf.name)}
    <form method="post" action="/me/name">
      ${textField(place, renameSelf.name, { name: "name", label: "The name that others see", value })}
      <button>${renameSelf.title}</button>
    </form>
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
            ${own.map((passkey) => passkeyItem(passkey, isPublic && own.length === 1 && linked === null))}
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
            fields: html`${textField(place, addPasskey.name, { name: "name", label, hint })} ${endOthersBox("add")}`,
          })
    }
  </section>`;
}

function passkeyItem({ id, name, rpId, createdAt, lastUsedAt }: MyPasskey, isLastWayIn: boolean): Html {
  return html`<li>
    <strong>${name}</strong> <small>for ${rpId}</small><br />
    Added ${time(createdAt)}, ${lastUsedAt === null ? "not used since" : html`last used ${time(lastUsedAt)}`}.
    <details>
      <summary>Remove ${name}</summary>
      <form method="post" action="/me/passkeys/remove">
        <input type="hidden" name="id" value="${id}" />
        ${isLastWayIn && LAST_ONE} ${endOthersBox(id)}
        <button class="quiet">Remove ${name}</button>
      </form>
    </details>
  </li>`;
}

const LAST_ONE = html`<p>This is your last passkey. Without it, only a new link signs you in.</p>
  ${knowsBox("remove")}`;

function singleSignOn(
  { linked, passkeys: own }: MyAccount,
  place: FormPlace,
  { provider, isPublic }: { provider: string; isPublic: boolean },
): Html {
  const why = html`${refusal(place, linkAccount.name)} ${refusal(place, unlinkAccount.name)}`;
  if (linked === null) {
    return html`<section>
      <h2>Single sign-on</h2>
      ${why}
      <p>Link your account at ${provider} to sign in with it.</p>
      <form method="post" action="/me/account/link">
        <button>${linkAccount.title}</button>
      </form>
    </section>`;
  }
  return html`<section>
    <h2>Single sign-on</h2>
    ${why}
    <p>
      Linked at ${provider}: <strong>${linked.email ?? linked.subject}</strong>, since ${time(linked.linked_at)}, last used
      ${time(linked.last_used_at)}.
    </p>
    <form method="post" action="/me/account/unlink">
      ${isPublic && own.length === 0 && knowsBox("unlink")}
      <button class="quiet">${unlinkAccount.title}</button>
    </form>
  </section>`;
}

function knowsBox(place: string): Html {
  return html`<p class="check">
    <input id="knows-${place}" type="checkbox" name="knows" value="yes" />
    <label for="knows-${place}">${removePasskey.input.knows.label}</label>
  </p>`;
}

/** Somebody who adds or removes a passkey may have lost a device, or found an unknown one. */
function endOthersBox(place: string): Html {
  return html`<p class="check">
    <input id="end-others-${place}" type="checkbox" name="end_others" value="yes" />
    <label for="end-others-${place}">Also end my sessions in other browsers</label>
  </p>`;
}

function sessions({ sessions: own }: MyAccount, place: FormPlace): Html {
  return html`<section>
    <h2>Where you are signed in</h2>
    ${refusal(place, endSession.name)}
    <ul class="entries">
      ${own.map(sessionItem)}
    </ul>
    ${
      own.length > 1 &&
      html`<form method="post" action="/me/sessions/end-others">
      <button>End all other sessions</button>
    </form>`
    }
  </section>`;
}

function sessionItem({ id, createdAt, lastSeenAt, isThis }: MySession): Html {
  const began = isoInstant(createdAt);
  return html`<li>
    Since ${began}, last seen ${time(lastSeenAt)}
    ${
      isThis
        ? html`<span class="tag">this browser</span>`
        : html`<form method="post" action="/me/sessions/end">
            <input type="hidden" name="id" value="${id}" />
            <button class="quiet">End session of ${began}</button>
          </form>`
    }
  </li>`;
}

function time(at: Date): Html {
  return html`<time datetime="${at.toISOString()}">${isoInstant(at)}</time>`;
}
