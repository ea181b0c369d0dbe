import { formFor, formOf } from "../../console/action-form.ts";
import { instant, isoInstant } from "../../console/format.ts";
import { definePage, type PageCall } from "../../console/page.ts";
import { alertTabs, severityMark } from "../../console/views/alert.ts";
import { rows } from "../../console/views/blocks.ts";
import { selectField } from "../../console/views/form.ts";
import { html, type Html } from "../../lib/html.ts";
import { sentence, setDigest, stopDigest, TIME_ZONES, whyNoDigest } from "../digest/actions.ts";
import { findDigest, type DigestRow } from "../digest/queries.ts";
import { listNotices, type NoticeRow } from "../../store/queries/notice.ts";
import { leaveWorkspace, ROLE_TEXTS } from "../members/actions.ts";
import { readSettings } from "../right.ts";

/** State of the caller's digest, for `digestPart`; `reason`: why this installation has none. */
type ShownDigest = { digest: DigestRow | null; reason: string | null };

async function loadDigest({ caller, origin }: PageCall): Promise<ShownDigest> {
  const { database, workspace, actor, push } = await caller();
  const digest = await findDigest(database, workspace.shop_key, actor.session?.userId ?? "");
  return { digest: digest?.address === "" ? null : digest, reason: whyNoDigest(push.smtp, origin) };
}

/** The part of a page that turns the weekly digest on and off. */
function digestPart({ digest, reason }: ShownDigest, call: PageCall): Html {
  const field = setDigest.input.time_zone;
  const zones = selectField(call, setDigest.name, {
    ...field,
    name: "time_zone",
    value: digest?.time_zone ?? "UTC",
    options: TIME_ZONES.map((zone) => [zone, zone] as const),
  });
  return html`<h2>Weekly digest</h2>
    <p>
      The overview by e-mail, once a week: problems, key figures and the last twelve months. It is off until you turn
      it on, for you alone. None is sent while billing is inactive or the workspace’s figures are withheld.
    </p>
    ${digest !== null && html`<p>${stateText(digest)}</p>`}
    ${
      reason === null
        ? formFor(call, setDigest, {
            values: { address: digest?.address ?? "" },
            drawn: { time_zone: zones },
          })
        : html`<p class="note">${reason}</p>`
    }
    ${formFor(call, stopDigest, { variant: "quiet", isOffered: digest !== null })}`;
}

function stateText(digest: DigestRow): string {
  const { last_sent_at: sentAt, last_problem: problem } = digest;
  const sent = sentAt === null ? "" : ` Last sent: ${isoInstant(sentAt)}.`;
  return `${sendingText(digest)}${sent}${problem === null ? "" : ` ${problem}`}`;
}

function sendingText({ address, time_zone: zone, due_at: dueAt, last_problem: problem }: DigestRow): string {
  if (dueAt !== null) return `${sentence(address, zone)} Next: ${isoInstant(dueAt)}.`;
  if (problem === null)
    return `The address ${address} is not confirmed yet: open the link in the e-mail that was sent to it.`;
  return `Nothing is sent to ${address} any more: save the digest again to confirm the address once more.`;
}

const PATH = "/settings/notices";
const TITLE = "Your notices";

/** The member's own notices, their role, and the way out. */
export const noticesPage = definePage<{ list: NoticeRow[]; digest: ShownDigest }>({
  name: "notices",
  path: PATH,
  right: readSettings,
  link: TITLE,
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
  forms: [
    formOf(leaveWorkspace, { path: `${PATH}/leave`, follow: ({ done }) => ({ href: "/w", done }) }),
    formOf(setDigest, { path: `${PATH}/digest` }),
    formOf(stopDigest, { path: `${PATH}/digest/stop` }),
  ],
});

const SHOWN_NOTICES = 100;

/** The newest notices of the caller. */
async function noticesOf({ caller }: PageCall): Promise<NoticeRow[]> {
  const { database, actor, workspace } = await caller();
  return listNotices(database, workspace.shop_key, actor.name, SHOWN_NOTICES);
}

function item({ severity, title, body, created_at: at, ...notice }: NoticeRow, { href }: PageCall): Html {
  const { link_path: path, link_label: text } = notice;
  const moment = at.toISOString();
  return html`<article class="alert ${severity}">
    <p class="severity">${severityMark(severity)} · <time datetime="${moment}">${instant(moment)}</time></p>
    <h3>${title}</h3>
    <p>${body}</p>
    ${path !== null && html`<p><a href="${href(path)}">${text}</a></p>`}
  </article>`;
}

function rolePart(call: PageCall): Html {
  const { role, shopDomain } = call;
  return html`<h2>Your membership</h2>
    ${rows([{ name: "Your role", value: role, note: ROLE_TEXTS[role] }])}
    <p>
      After you leave, you cannot see ${shopDomain} until an admin or an owner invites you again. The last owner
      cannot leave.
    </p>
    ${formFor(call, leaveWorkspace, { variant: "danger" })}`;
}
