import { ApiError } from "../../contract/errors.ts";
import type { Role } from "../../contract/role.ts";
import { recoverMember } from "../../control/invite.ts";
import { removeMember, setMemberRole, showMembers } from "../../control/members.ts";
import type { ListedMember } from "../../control/members.ts";
import { hasRight } from "../../control/rights.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import type { Action, ActionCall } from "../action.ts";
import { day } from "../format.ts";
import { definePage } from "../page.ts";
import type { PageCall } from "../page.ts";
import { rows } from "../views/facts.ts";
import { actionForm, refusal, selectField } from "../views/form.ts";
import { memberLink } from "../views/settings/member-link.ts";
import { ROLE_TEXTS, roleOptions } from "../views/settings/roles.ts";
import { lastSeen, stateText } from "./members.ts";
import { userName } from "../../lib/user-name.ts";

const LIST = "/settings/members";
const PATH = `${LIST}/:id`;

/** One member: their role, a new link, and the end of their membership. */
export const member = definePage<ListedMember>({
  name: "member",
  path: PATH,
  right: "members.read",
  link: null,
  takes: [],
  data: async (call) => {
    const { database, actor, workspace, now } = await call.acting();
    const list = await showMembers(database, actor, workspace, now);
    const found = list.find(({ user_id: userId }) => userId === call.path["id"]);
    if (found === undefined) throw new ApiError("not_found", "This person is no member of this workspace.");
    return found;
  },
  view: (shown, call) => ({
    title: shown.name,
    body: html`<p><a href="${call.href(LIST)}">Members</a></p>
      <h1>${shown.name}</h1>
      ${facts(shown)} ${mayChange(shown, call.role) ? forms(shown, call) : ONLY_OWNERS}`,
  }),
});

const ONLY_OWNERS = html`<p class="banner">Only an owner changes or removes an owner.</p>`;

export const memberActions: readonly Action[] = [
  {
    name: "member.set",
    path: `${PATH}/role`,
    right: "member.set",
    page: member,
    perform: async (call) => {
      const { database, actor, workspace } = await call.acting();
      const request = { userId: idOf(call), role: call.form.get("role") ?? "" };
      const { name, role } = await setMemberRole(database, actor, workspace, request);
      // Who lowered themselves may not read the list any more.
      const isOwn = actor.name === userName(idOf(call));
      const next = isOwn && !hasRight(role, "members.read") ? "/settings" : pathOf(call);
      return { href: call.href(next), done: `${name} is ${article(role)} ${role} from their next page on.` };
    },
  },
  {
    name: "member.recover",
    path: `${PATH}/link`,
    right: "member.recover",
    page: member,
    perform: async (call) => {
      const { database, actor, workspace, now } = await call.acting();
      const request = { userId: idOf(call), origin: call.origin, now };
      return { view: memberLink(await recoverMember(database, actor, workspace, request), call) };
    },
  },
  {
    name: "member.remove",
    path: `${PATH}/remove`,
    right: "member.remove",
    page: member,
    perform: async (call) => {
      const { database, actor, workspace } = await call.acting();
      const { name, was_invited: wasInvited } = await removeMember(database, actor, workspace, idOf(call));
      const isOwn = actor.name === userName(idOf(call));
      return {
        href: isOwn ? "/w" : call.href(LIST),
        done: wasInvited
          ? `The invitation of ${name} is withdrawn: its link does not work any more.`
          : `${name} sees nothing of ${call.shopDomain} from their next page on.`,
      };
    },
  },
];

function idOf({ path }: ActionCall | PageCall): string {
  return path["id"] ?? "";
}

function pathOf(call: ActionCall | PageCall): string {
  return `${LIST}/${encodeURIComponent(idOf(call))}`;
}

function article(role: Role): string {
  return role === "viewer" ? "a" : "an";
}

function mayChange(shown: ListedMember, role: Role): boolean {
  return hasRight(role, shown.role === "owner" ? "member.set_owner" : "member.set");
}

function facts(shown: ListedMember): Html {
  return rows([
    { name: "Role", value: shown.role, note: ROLE_TEXTS[shown.role] },
    { name: "Member since", value: day(shown.since.toISOString()) },
    { name: "Last seen", value: lastSeen(shown) },
    { name: "State", value: stateText(shown) },
  ]);
}

function forms(shown: ListedMember, call: PageCall): Html {
  const path = pathOf(call);
  const link = linkPart(shown);
  const end = endPart(shown, call);
  return html`<h2>Role</h2>
    ${refusal(call, "member.set")}
    ${actionForm(call, { path: `${path}/role`, button: "Change the role" }, [
      selectField(call, "member.set", {
        name: "role",
        label: "Role",
        value: shown.role,
        options: roleOptions(call.role),
      }),
    ])}
    ${
      link !== null &&
      html`<h2>${link.title}</h2>
        <p>${link.text}</p>
        ${refusal(call, "member.recover")} ${actionForm(call, { path: `${path}/link`, button: link.button, look: "quiet" })}`
    }
    <h2>${end.title}</h2>
    <p>${end.text}</p>
    ${refusal(call, "member.remove")}
    ${actionForm(call, { path: `${path}/remove`, button: end.button, look: "danger" })}`;
}

type Part = { title: string; text: string; button: string };

/** null = an owner's way back comes from the operator. */
function linkPart({ is_pending: isPending, role }: ListedMember): Part | null {
  if (isPending) {
    return {
      title: "Make another invitation",
      text: "For where the link was lost, or has expired. Links made before do not work any more.",
      button: "Make another invitation",
    };
  }
  if (role === "owner") return null;
  return {
    title: "Let them back in",
    text: "For somebody who has lost their passkeys. A recovery link works once, within ten minutes. It ends their sessions at once, and their passkeys when it is used. Every owner gets a notice.",
    button: "Make a recovery link",
  };
}

function endPart({ is_pending: isPending, name }: ListedMember, { shopDomain }: PageCall): Part {
  if (isPending) {
    return {
      title: "Withdraw the invitation",
      text: "The link does not work any more, and the name goes from the list.",
      button: `Withdraw the invitation of ${name}`,
    };
  }
  return {
    title: "Remove from the workspace",
    text: `They see nothing of ${shopDomain} from their next page on. Who is a member of no other workspace is forgotten with their name; the audit then says “removed member”.`,
    button: `Remove ${name}`,
  };
}
