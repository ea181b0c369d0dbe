import type { MemberLink } from "../../../control/invite.ts";
import { html } from "../../../lib/html.ts";
import { instant } from "../../format.ts";
import type { PageCall, View } from "../../page.ts";
import { codeToCopy } from "../code.ts";

/** A link for a member, shown this once: to be copied, or sent by the reader's own mail program. */
export function memberLink(link: MemberLink, { href, shopDomain }: PageCall): View {
  const { name, purpose, expires_at: expiresAt } = link;
  const isInvitation = purpose === "invite";
  const title = isInvitation ? `Invitation of ${name}` : `Recovery link of ${name}`;
  const until = instant(expiresAt.toISOString()) as string;
  return {
    title,
    isSecret: true,
    body: html`<h1>${title}</h1>
      <p>
        Give this link to ${name}, and to nobody else: whoever opens it is signed in as them. It is shown this
        once, and works once, until ${until}.
      </p>
      ${codeToCopy("link", link.link)}
      <p><a href="${mailAddress(link, shopDomain, until)}">Write a mail with this link</a></p>
      <p class="note">
        ${
          isInvitation
            ? "Nothing was sent: you decide how the link gets there. Where it is lost, make another one on the member’s page; this one then does not work any more."
            : "All sessions of this member have ended. Their passkeys end when the link is used."
        }
      </p>
      <p><a href="${href("/settings/members")}">Back to the members</a></p>`,
  };
}

function mailAddress({ name, link, purpose }: MemberLink, shopDomain: string, until: string): string {
  const subject =
    purpose === "invite" ? `Invitation to the returns of ${shopDomain}` : `Your way back to ${shopDomain}`;
  const body = `${name},\n\nthis link signs you in to the returns of ${shopDomain}. It works once, until ${until}:\n\n${link}\n`;
  return `mailto:?subject=${encodeURIComponent(subject)}&body=${encodeURIComponent(body)}`;
}
