import { showUsage } from "../../control/usage.ts";
import type { Usage } from "../../control/usage.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { usageChart } from "../charts/usage.ts";
import { count } from "../format.ts";
import { definePage } from "../page.ts";
import type { PageCall } from "../page.ts";
import { facts } from "../views/facts.ts";
import { isoInstant, tokenPrefix } from "../views/settings/token-words.ts";
import { endpointTable, groupTable, refusalTable } from "../views/settings/usage-tables.ts";

/** What the workspace asks of the API: today against the quota, and 30 days in detail. */
export const usage = definePage<Usage>({
  name: "usage",
  path: "/settings/usage",
  right: "usage.read",
  link: "Usage",
  about: async () => "API requests of today and of the last 30 days.",
  takes: [],
  data: async (call) => {
    const { database, actor, workspace, now } = await call.acting();
    return showUsage(database, actor, workspace, { now });
  },
  view: (data, call) => ({
    title: "Usage",
    body: html`<h1>Usage</h1>
      <p>Requests of programs and AI agents. Looking at these pages counts none.</p>
      <h2>Today</h2>
      ${today(data)}
      <h2>The last 30 days</h2>
      ${usageChart(data.by_day)} ${differences(data)} ${details(data, call)}`,
  }),
});

function today({
  today: { used_requests: used, resets_at: resetsAt, forecast },
  daily_quota: quota,
  plan,
}: Usage): Html {
  if (quota === null) return html`<p>The plan ${plan} has no daily limit.</p>`;
  const usedUpAt = forecast?.used_up_at ?? null;
  return facts([
    { name: "Used", value: html`<strong>${count(used)}</strong> of ${count(quota)} requests` },
    { name: "Left", value: html`${count(Math.max(0, quota - used))}` },
    { name: "The count begins anew at", value: html`${isoInstant(resetsAt)}` },
    {
      name: "Forecast",
      value:
        used >= quota && quota > 0
          ? html`It is used up already`
          : forecastText(forecast?.requests_by_reset, usedUpAt),
      note: forecast === null ? null : "if the rest of the day is like what has passed of it",
    },
  ]);
}

function forecastText(byReset: number | undefined, usedUpAt: Date | null): Html {
  if (byReset === undefined) return html`none yet`;
  return usedUpAt === null
    ? html`about ${count(byReset)} requests by the end of the day`
    : html`used up at about ${isoInstant(usedUpAt)}`;
}

/** The days are exact; the details below them are not always. */
function differences({ by_day: days }: Usage): Html {
  const missing = days.reduce((sum, { missing_requests: lack }) => sum + Math.max(0, lack), 0);
  const extra = days.reduce((sum, { missing_requests: lack }) => sum + Math.max(0, -lack), 0);
  return html`<p>
      What counts towards the quota is exact. All else is counted apart, written every 10 seconds, and kept for 400
      days.
    </p>
    ${missing > 0 && html`<p class="banner">The tables below lack ${count(missing)} of the counted requests: they are up to 10 seconds behind, and a server that is cut off loses as much.</p>`}
    ${extra > 0 && html`<p class="banner">The tables below have ${count(extra)} requests more than were counted: a server could not tell whether they had been written.</p>`}`;
}

function details(
  { by_token: tokens, by_endpoint: endpoints, by_surface: surfaces, refusals }: Usage,
  call: PageCall,
): Html | null {
  if (tokens.length === 0) return null;
  const names = new Map(tokens.map(({ key, name }) => [key, name]));
  return html`<h2>By token</h2>
    ${groupTable("Requests by token", "Token", tokens, ({ key }) => tokenCell(key, names.get(key) ?? null, call))}
    <h2>By endpoint</h2>
    ${endpointTable(endpoints)}
    <h2>By surface</h2>
    ${groupTable("Requests by surface", "Surface", surfaces)}
    <h2>Refused</h2>
    ${refusalTable(refusals) ?? html`<p>No request was refused.</p>`}`;
}

function tokenCell(tokenId: string, name: string | null, { href }: PageCall): Html {
  const prefix = html`<small class="detail"><code>${tokenPrefix(tokenId)}</code></small>`;
  if (name === null) return html`${prefix}`;
  return html`<a class="name" href="${href(`/settings/tokens/${tokenId}`)}">${name}</a> ${prefix}`;
}
