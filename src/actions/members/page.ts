import { buttonFor, formFor, formOf, questionOf } from "../../console/action-form.ts";
import { isoInstant, isoDay } from "../../console/format.ts";
import { definePage, type ActionCall, type PageCall, type View } from "../../console/page.ts";
import { codeToCopy, rows, tableOf } from "../../console/views/blocks.ts";
import { refusal, selectField } from "../../console/views/form.ts";
import { ApiError } from "../../contract/errors.ts";
import { html, type Html } from "../../lib/html.ts";
import { userName } from "../../lib/user-name.ts";
import { readList } from "../action.ts";
import { mayDo } from "../right.ts";
import {
  changeOwners,
  inviteMember,
  memberList,
  recoverMember,
  removeMember,
  restoreMember,
  ROLE_TEXTS,
  setMemberRole,
  stateOf,
} from "./actions.ts";
import type { ListedMember, MemberLink } from "./actions.ts";
import { undoableSince } from "../refusal.ts";
import { listRemoved, type RemovedRow } from "./queries.ts";

const PATH = "/settings/members";
const MEMBER_PATH = `${PATH}/:person`;
const TITLE = "Members";

/** The people of a workspace, and who is invited. */
const membersPage = definePage<{ list: ListedMember[]; removed: RemovedRow[]; hasProvider: boolean }>({
  name: "members",
  path: PATH,
  right: memberList,
  link: TITLE,
  about: async (call) => countText(await load(call)),
  data: async (call) => {
    const { database, workspace, now, provider } = await call.caller();
    const removed = await listRemoved(database, workspace.shop_key, undoableSince(now));
    return { list: await load(call), removed, hasProvider: provider !== null };
  },
  view: ({ list, removed, hasProvider }, call) => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1>
      <p class="lead">
        Who can see the pages of ${call.shopDomain}. A new role or a removal applies from that person’s next page.
      </p>
      ${table(list, call)} ${removedPart(removed, call)} ${invitePart(call, hasProvider)}`,
  }),
  forms: [
    formOf(inviteMember, { follow: ({ result }, call) => ({ view: linkView(result, call) }) }),
    formOf(restoreMember, { path: `${PATH}/restore` }),
  ],
});

/** One member: their role, a new link, and the end of their membership. */
const memberPage = definePage<ListedMember>({
  name: "member",
  path: MEMBER_PATH,
  right: memberList,
  data: async (call) => {
    const found = (await load(call)).find(({ user_id: id }) => id === call.path["person"]);
    if (found === undefined)
      throw new ApiError("not_found", "This person is not a member of this workspace.");
    return found;
  },
  view: (member, call) => ({
    title: member.name,
    body: html`<p><a href="${call.href(PATH)}">${TITLE}</a></p>
      <h1>${member.name}</h1>
      ${rows([
        { name: "Role", value: member.role, note: ROLE_TEXTS[member.role] },
        { name: "Member since", value: isoDay(member.since) },
        { name: "Last seen", value: lastSeen(member) },
        { name: "State", value: stateText(member) },
      ])}
      ${
        mayDo(call.role, member.role === "owner" ? changeOwners : setMemberRole)
          ? forms(member, call)
          : html`<p class="banner">Only an owner can change or remove an owner.</p>`
      }`,
  }),
  forms: [
    formOf(setMemberRole, {
      path: `${MEMBER_PATH}/role`,
      current: async (call) => {
        const found = (await load(call)).find(({ user_id: id }) => id === call.path["person"]);
        return found === undefined ? {} : { role: found.role };
      },
      follow: async ({ result, done }, call) => {
        // Members who lowered their own role may no longer read the list.
        const isOver = (await isSelf(call)) && !mayDo(result.role, memberList);
        return { href: call.href(isOver ? "/settings" : MEMBER_PATH), done };
      },
    }),
    formOf(recoverMember, {
      path: `${MEMBER_PATH}/link`,
      follow: ({ result }, call) => ({ view: linkView(result, call) }),
    }),
    formOf(removeMember, {
      path: `${MEMBER_PATH}/remove`,
      follow: async ({ done }, call) => ({ href: (await isSelf(call)) ? "/w" : call.href(PATH), done }),
    }),
  ],
});

export const MEMBER_PAGES = [membersPage, memberPage] as const;

async function load(call: PageCall): Promise<ListedMember[]> {
  return readList(memberList, await call.caller());
}

async function isSelf({ caller, path }: ActionCall): Promise<boolean> {
  return (await caller()).actor.name === userName(path["person"] ?? "");
}

function countText(list: readonly ListedMember[]): string {
  const invited = list.filter(({ is_pending: isPending }) => isPending).length;
  const people = `${list.length - invited} ${list.length - invited === 1 ? "person" : "people"}`;
  return invited === 0 ? `${people}.` : `${people}, ${invited} invited.`;
}

/** Who was removed within a day, and how to undo it. */
function removedPart(removed: readonly RemovedRow[], call: PageCall): Html {
  return html`${refusal(call, restoreMember.name)}
  ${removed.map(
    ({ user_id: person, name, role, removed_at: at }) =>
      html`<section>
        <p>${name} (${role}) was removed on ${isoInstant(at)}. For 24 hours this can be undone.</p>
        ${mayDo(call.role, role === "owner" ? changeOwners : restoreMember) && buttonFor(call, restoreMember, { button: `${restoreMember.title} of ${name}`, kept: { person }, variant: "quiet" })}
      </section>`,
  )}`;
}

function table(list: readonly ListedMember[], { href }: PageCall): Html {
  return tableOf("Members, by name. Times are in UTC.", list, [
    ["Name", ({ name, user_id: id }) => html`<a href="${href(`${PATH}/${id}`)}">${name}</a>`],
    ["Role", ({ role }) => role],
    ["Member since", ({ since }) => isoDay(since)],
    ["Last seen", lastSeen],
    ["State", stateText],
  ]);
}

/** To five minutes. */
function lastSeen({ last_seen_at: at }: ListedMember): string {
  return at === null ? "never" : isoInstant(at);
}

function stateText(member: ListedMember): string {
  const { is_disabled: isDisabled, link_expires_at: until } = member;
  if (isDisabled || until === null) return stateOf(member);
  return `invited; the link works until ${isoInstant(until)}`;
}

function invitePart(call: PageCall, hasProvider: boolean): Html | null {
  const drawn = {
    role: roleField(call, inviteMember, "viewer"),
    ...(hasProvider ? {} : { email: null }),
  };
  const form = formFor(call, inviteMember, { drawn });
  if (form === null) return null;
  return html`<h2>${inviteMember.title}</h2>
    <p>
      You get a link to forward; this service sends no message. The link is shown once and works once,
      within 72 hours.
    </p>
    ${form}`;
}

function forms(member: ListedMember, call: PageCall): Html {
  const link = linkPart(member);
  const end = endPart(member, call);
  return html`<h2>Role</h2>
    ${formFor(call, setMemberRole, { current: { role: member.role }, drawn: { role: roleField(call, setMemberRole, member.role) } })}
    ${
      link !== null &&
      html`<h2>${link.title}</h2>
        <p>${link.text}</p>
        ${formFor(call, recoverMember, { variant: "quiet", button: link.button })}`
    }
    <h2>${end.button}</h2>
    <p>${end.text}</p>
    ${formFor(call, removeMember, { variant: "danger", button: end.button, question: end.question })}`;
}

/** The roles that somebody may give. */
function roleField(
  call: PageCall,
  { name, input }: typeof inviteMember | typeof setMemberRole,
  value: string,
): Html {
  const { label, choices = [] } = input.role;
  const options = choices.filter(([each]) => each !== "owner" || mayDo(call.role, changeOwners));
  return selectField(call, name, { name: "role", label, value, options });
}

/** null = an operator creates an owner's recovery link. */
function linkPart({ is_pending: isPending, role }: ListedMember) {
  if (isPending) {
    return {
      title: "New invitation link",
      text: "For an invitation that was lost or has expired. Earlier links stop working.",
      button: "Create invitation link",
    };
  }
  if (role === "owner") return null;
  return {
    title: "Recover access",
    text: "For somebody who has lost their passkeys. A recovery link works once, within ten minutes. It ends their sessions at once and removes their passkeys when it is used. Every owner gets a notice.",
    button: recoverMember.title,
  };
}

function endPart({ is_pending: isPending, user_id: person }: ListedMember, call: PageCall) {
  const { shopDomain } = call;
  if (isPending) {
    const text = "The link stops working, and the name leaves the list.";
    return { button: "Cancel invitation", text, question: null };
  }
  return {
    button: removeMember.title,
    question: questionOf(call, removeMember, { person }),
    text: `They lose access to ${shopDomain} from their next page on. You can undo this for 24 hours. After that, a person without another workspace is deleted, and the audit shows “removed member”.`,
  };
}

/** A link for a member, shown this once: to be copied, or sent by the reader's own mail program. */
function linkView(
  { name, role, workspace_name: workspace, made_by: inviter, purpose, link: secret, expires_at }: MemberLink,
  { href }: PageCall,
): View {
  const isInvitation = purpose === "invite";
  const title = isInvitation ? `Invitation for ${name}` : `Recovery link for ${name}`;
  const until = isoInstant(expires_at);
  const link = secret.reveal();
  const invites = inviter === null ? "You are invited" : `${inviter} invites you`;
  const subject = isInvitation
    ? `${invites} to ${workspace} on Returns Analytics`
    : `Recovery link for ${workspace}`;
  const what = isInvitation
    ? `${invites} to Returns Analytics for ${workspace}, as ${role === "viewer" ? "a" : "an"} ${role}. The link signs you in`
    : `This link signs you in to Returns Analytics for ${workspace}`;
  const text = `${name},\n\n${what}. It works once, until ${until}:\n\n${link}\n`;
  const mail = `mailto:?subject=${encodeURIComponent(subject)}&body=${encodeURIComponent(text)}`;
  return {
    title,
    body: html`<h1>${title}</h1>
      <p>
        Give this link only to ${name}: anyone who opens it is signed in as them. It is shown only once and
        works once, until ${until}.
      </p>
      ${codeToCopy("link", link)}
      <p><a href="${mail}">Email this link</a></p>
      <p class="note">
        ${
          isInvitation
            ? "No message was sent. If the link is lost, create another one on the member’s page; this one then stops working."
            : "All sessions of this member have ended. Their passkeys are removed when the link is used."
        }
      </p>
      <p><a href="${href(PATH)}">Back to members</a></p>`,
  };
}
