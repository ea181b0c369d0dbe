import { inviteMember } from "../../control/invite.ts";
import { showMembers } from "../../control/members.ts";
import type { ListedMember } from "../../control/members.ts";
import { hasRight } from "../../control/rights.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import type { Action } from "../action.ts";
import { day, instant } from "../format.ts";
import { definePage } from "../page.ts";
import type { PageCall } from "../page.ts";
import { actionForm, refusal, selectField, textField } from "../views/form.ts";
import { memberLink } from "../views/settings/member-link.ts";
import { roleOptions } from "../views/settings/roles.ts";
import { dataTable } from "../views/table.ts";

const PATH = "/settings/members";
const TITLE = "Members";
const INVITE = "member.invite";

/** The people of a workspace, and who is invited. */
export const members = definePage<ListedMember[]>({
  name: "members",
  path: PATH,
  right: "members.read",
  link: TITLE,
  takes: [],
  about: async (call) => countText(await membersOf(call)),
  data: membersOf,
  view: (list, call) => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1>
      <p class="lead">
        Who sees the pages of ${call.shopDomain}. A change of a role, or a removal, counts from that person’s next
        page on.
      </p>
      ${table(list, call)} ${hasRight(call.role, INVITE) && inviteForm(call)}`,
  }),
});

export const membersActions: readonly Action[] = [
  {
    name: INVITE,
    path: PATH,
    right: INVITE,
    page: members,
    perform: async (call) => {
      const { database, actor, workspace, now } = await call.acting();
      const link = await inviteMember(database, actor, workspace, {
        name: call.form.get("name") ?? "",
        role: call.form.get("role") ?? "",
        origin: call.origin,
        now,
      });
      return { view: memberLink(link, call) };
    },
  },
];

async function membersOf(call: PageCall): Promise<ListedMember[]> {
  const { database, actor, workspace, now } = await call.acting();
  return showMembers(database, actor, workspace, now);
}

function countText(list: readonly ListedMember[]): string {
  const invited = list.filter(({ is_pending: isPending }) => isPending).length;
  const people = `${list.length - invited} ${list.length - invited === 1 ? "person" : "people"}`;
  return invited === 0 ? `${people}.` : `${people}, ${invited} invited.`;
}

const COLUMNS = [
  { text: "Name" },
  { text: "Role" },
  { text: "Member since" },
  { text: "Last seen" },
  { text: "State" },
];

function table(list: readonly ListedMember[], { href }: PageCall): Html {
  const rows = list.map((member) => [
    html`<a href="${href(`${PATH}/${encodeURIComponent(member.user_id)}`)}">${member.name}</a>`,
    html`${member.role}`,
    html`${day(member.since.toISOString())}`,
    html`${lastSeen(member)}`,
    html`${stateText(member)}`,
  ]);
  return dataTable("Members, by name. Times are in UTC.", COLUMNS, rows);
}

/** To five minutes. */
export function lastSeen({ last_seen_at: at }: ListedMember): string {
  return at === null ? "never" : (instant(at.toISOString()) as string);
}

export function stateText({
  is_disabled: isDisabled,
  is_pending: isPending,
  link_expires_at: until,
}: ListedMember): string {
  if (isDisabled) return "disabled by the operator";
  if (!isPending) return "active";
  return until === null
    ? "invited; the link has expired"
    : `invited; the link works until ${instant(until.toISOString()) as string}`;
}

function inviteForm(call: PageCall): Html {
  return html`<h2>Invite somebody</h2>
    <p>
      You get a link, which is shown once, and give it to them yourself. It works once, within 72 hours. Nothing
      is sent from here.
    </p>
    ${refusal(call, INVITE)}
    ${actionForm(call, { path: PATH, button: "Make the invitation" }, [
      textField(call, INVITE, {
        name: "name",
        label: "Their name",
        hint: "As the list of members and the audit show it, up to 100 characters.",
      }),
      selectField(call, INVITE, {
        name: "role",
        label: "Their role",
        value: "viewer",
        options: roleOptions(call.role),
      }),
    ])}`;
}
