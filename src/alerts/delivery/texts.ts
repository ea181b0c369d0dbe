import type { FeedAlert } from "../../endpoints/alerts.ts";

/** Alerts of one workspace in one message, oldest first. */
type AlertBundle = { shopDomain: string; alerts: readonly FeedAlert[] };

/** Mentions of everybody in Slack and similar tools, which a product's name must not trigger. */
const MENTION = /@(?=(?:channel|here|everyone|all)\b)/giu;

/** The text of a message to a Slack-compatible address, in its mark-up, with names from the store escaped. */
export function slackText({ shopDomain, alerts }: AlertBundle): string {
  const parts = alerts.map((alert) => {
    const { severity, title, body, link_url: url, link_label: label } = alert;
    const link = url === null ? [] : [`<${escapeSlack(url)}|${escapeSlack(label ?? "Open")}>`];
    return [
      `*${severity}* ${escapeSlack(title)}`,
      ...(body === null ? [] : [escapeSlack(body)]),
      ...link,
    ].join("\n");
  });
  return [headline(shopDomain, alerts.length), ...parts].join("\n\n");
}

function escapeSlack(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll(MENTION, "@\u200B");
}

type MailedAlert = Pick<FeedAlert, "severity" | "title" | "body" | "link_url" | "created_at">;

/** Subject and plain text of an e-mail. */
export function mailText({ shopDomain, alerts }: { shopDomain: string; alerts: readonly MailedAlert[] }): {
  subject: string;
  text: string;
} {
  const parts = alerts.map((alert) => {
    const { severity, title, body, link_url: url, created_at: at } = alert;
    const lines = [
      `${severity}: ${title}`,
      at,
      ...(body === null ? [] : ["", body]),
      ...(url === null ? [] : ["", url]),
    ];
    return lines.join("\n");
  });
  const [only] = alerts;
  const subject =
    alerts.length === 1 && only !== undefined
      ? `[${shopDomain}] ${only.severity}: ${only.title}`
      : headline(shopDomain, alerts.length);
  return { subject: subject.replaceAll(/\s+/gu, " "), text: `${parts.join("\n\n-- \n\n")}\n` };
}

function headline(shopDomain: string, count: number): string {
  return `${count === 1 ? "1 alert" : `${count} alerts`} for ${shopDomain}`;
}
