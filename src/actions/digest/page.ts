import { formFor, formOf } from "../../console/action-form.ts";
import { isoInstant } from "../../console/format.ts";
import type { Page, PageCall } from "../../console/page.ts";
import { selectField } from "../../console/views/form.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { sentence, setDigest, stopDigest, TIME_ZONES, whyNoDigest } from "./actions.ts";
import { findDigest } from "./queries.ts";
import type { DigestRow } from "./queries.ts";

const PATH = "/settings/notices/digest";

/** How the caller's digest stands, for `digestPart`; `reason`: why there is none on this installation. */
export type ShownDigest = { digest: DigestRow | null; reason: string | null };

export async function loadDigest({ caller, origin }: PageCall): Promise<ShownDigest> {
  const { database, workspace, actor, push } = await caller();
  const digest = await findDigest(database, workspace.shop_key, actor.session?.userId ?? "");
  return { digest: digest?.address === "" ? null : digest, reason: whyNoDigest(push.smtp, origin) };
}

/** The part of a page that turns the weekly digest on and off. */
export function digestPart({ digest, reason }: ShownDigest, call: PageCall): Html {
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
            path: PATH,
            values: { address: digest?.address ?? "" },
            drawn: { time_zone: zones },
          })
        : html`<p class="note">${reason}</p>`
    }
    ${formFor(call, stopDigest, { path: `${PATH}/stop`, variant: "quiet", isOffered: digest !== null })}`;
}

function stateText({
  address,
  time_zone: zone,
  due_at: dueAt,
  last_sent_at: sentAt,
  last_problem: problem,
}: DigestRow): string {
  const state =
    dueAt === null
      ? `The address ${address} has not confirmed it: its link is in the mail that was sent there.`
      : `${sentence(address, zone)} Next: ${isoInstant(dueAt)}.`;
  const sent = sentAt === null ? "" : ` Last sent: ${isoInstant(sentAt)}.`;
  return `${state}${sent}${problem === null ? "" : ` ${problem}`}`;
}

export const digestForms = (page: Page) => [
  formOf(setDigest, { path: PATH, page }),
  formOf(stopDigest, { path: `${PATH}/stop`, page }),
];
