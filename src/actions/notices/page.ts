import { formFor, formOf } from "../../console/action-form.ts";
import { instant } from "../../console/format.ts";
import { definePage } from "../../console/page.ts";
import type { PageCall } from "../../console/page.ts";
import { alertTabs, severityMark } from "../../console/views/alert.ts";
import { rows } from "../../console/views/blocks.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { digestForms, digestPart, loadDigest } from "../digest/page.ts";
import type { ShownDigest } from "../digest/page.ts";
import { leaveWorkspace, ROLE_TEXTS } from "../members/actions.ts";
import { readSettings } from "../right.ts";
import { showNotices } from "./notices.ts";
import type { ShownNotice } from "./notices.ts";

const PATH = "/settings/notices";
const TITLE = "Your notices";

/** The member's own notices, their role, and the way out. */
const noticesPage = definePage<{ list: ShownNotice[]; digest: ShownDigest }>({
  name: "notices",
  path: PATH,
  right: readSettings,
  link: TITLE,
  takes: [],
  about: async (call) => {
    const count = (await noticesOf(call)).length;
    const told = count === 0 ? "No notices." : `${count} ${count === 1 ? "notice" : "notices"}.`;
    return `${told} Your role is ${call.role}.`;
  },
  data: async (call) => ({ list: await noticesOf(call), digest: await loadDigest(call) }),
  view: ({ list, digest }, call) => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1>
      ${alertTabs(call, "yours")}
      <p class="lead">
        Notices that only you see, such as a token that expires soon or a recovery link that was created. Newest
        first; times are in UTC.
      </p>
      <h2>Notices for you</h2>
      ${list.length === 0 ? html`<p class="banner">No notices yet.</p>` : list.map((notice) => item(notice, call))}
      ${digestPart(digest, call)} ${rolePart(call)}`,
  }),
});

export const NOTICE_PAGES = [noticesPage] as const;

export const NOTICE_FORMS = [
  formOf(leaveWorkspace, {
    path: `${PATH}/leave`,
    page: noticesPage,
    follow: ({ done }) => ({ href: "/w", done }),
  }),
  ...digestForms(noticesPage),
];

async function noticesOf({ caller }: PageCall): Promise<ShownNotice[]> {
  return showNotices(await caller());
}

function item({ severity, title, body, link, created_at: at }: ShownNotice, { href }: PageCall): Html {
  const moment = at.toISOString();
  return html`<article class="alert ${severity}">
    <p class="severity">${severityMark(severity)} · <time datetime="${moment}">${instant(moment)}</time></p>
    <h3>${title}</h3>
    <p>${body}</p>
    ${link !== null && html`<p><a href="${href(link.path)}">${link.text}</a></p>`}
  </article>`;
}

function rolePart(call: PageCall): Html {
  const { role, shopDomain } = call;
  return html`<h2>Your membership</h2>
    ${rows([{ name: "Your role", value: role, note: ROLE_TEXTS[role] }])}
    <p>
      After you leave, you see nothing of ${shopDomain} until an admin or an owner invites you again. The last owner
      cannot leave.
    </p>
    ${formFor(call, leaveWorkspace, { path: `${PATH}/leave`, variant: "danger" })}`;
}
