import { tokenPrefix } from "../../access/token.ts";
import { count, isoInstant, day as dayText } from "../../console/format.ts";
import { definePage, type PageCall } from "../../console/page.ts";
import { facts, tableOf } from "../../console/views/blocks.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { ENDPOINTS } from "../../contract/registry.ts";
import { keptText } from "../../lib/retention.ts";
import { html, type Html, type HtmlValue } from "../../lib/html.ts";
import { showUsage, usageRead } from "./usage.ts";
import type { Usage, UsageGroup, UsageSummary, UsageDay } from "./usage.ts";
import { max } from "d3-array";
import { chartFigure, nothingToDraw, figureTable } from "../../console/charts/frame.ts";
import {
  barPart,
  columns,
  place,
  verticalAxis,
  verticalScale,
  boxSwatch,
} from "../../console/charts/plot.ts";

/** The workspace's API usage: today's quota, and 30 days in detail. */
export const usage = definePage<Usage>({
  name: "usage",
  path: "/settings/usage",
  right: usageRead,
  link: "Usage",
  about: async (call) => {
    const loaded = await load(call);
    const quota = loaded.daily_quota?.toLocaleString("en");
    const limit = quota === undefined ? "no daily limit" : `a daily limit of ${quota}`;
    const asked = requestsToday(loaded).toLocaleString("en");
    return `Requests by programs and AI agents: ${asked} today, ${limit}.`;
  },
  data: load,
  view: (data, call) => ({
    title: "Usage",
    body: html`<h1>Usage</h1>
      <p>Requests by programs and AI agents. Viewing these pages does not count.</p>
      <h2>Today</h2>
      ${today(data)}
      <h2>The last 30 days</h2>
      ${usageChart(data.by_day)} ${differences(data)} ${details(data, call)}`,
  }),
});

function requestsToday({ by_day: days }: Usage): number {
  const day = days.at(-1);
  return day === undefined ? 0 : day.quota_requests + day.other_requests;
}

async function load(call: PageCall): Promise<Usage> {
  const { database, actor, workspace, now, retention } = await call.caller();
  return showUsage(database, actor, workspace, { now, keepUsageDays: retention.keepUsageDays });
}

function today(data: Usage): Html {
  const { daily_quota: quota, plan } = data;
  const { used_requests: used, resets_at: resetsAt, forecast } = data.today;
  if (quota === null)
    return html`<p>The plan ${plan} has no daily limit. Requests today: ${count(requestsToday(data))}.</p>`;
  const usedUpAt = forecast?.used_up_at ?? null;
  return facts([
    { name: "Used", value: html`<strong>${count(used)}</strong> of ${count(quota)} requests` },
    { name: "Left", value: html`${count(Math.max(0, quota - used))}` },
    { name: "Resets at", value: html`${isoInstant(resetsAt)}` },
    {
      name: "Forecast",
      value:
        used >= quota && quota > 0
          ? html`Already used up`
          : forecastText(forecast?.requests_by_reset, usedUpAt),
      note: forecast === null ? null : "if the day continues at this rate",
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
function differences({ by_day: days, kept_days: keptDays }: Usage): Html {
  const missing = days.reduce((sum, { missing_requests: lack }) => sum + Math.max(0, lack), 0);
  const extra = days.reduce((sum, { missing_requests: lack }) => sum + Math.max(0, -lack), 0);
  return html`<p>
      What counts towards the quota is exact. The rest is counted separately and written every 10 seconds. All counts are kept ${keptText(keptDays ?? Number.POSITIVE_INFINITY)}.
    </p>
    ${missing > 0 && html`<p class="banner">The tables below lack ${count(missing)} of the counted requests: they are up to 10 seconds behind, and a killed server loses up to 10 seconds of them.</p>`}
    ${extra > 0 && html`<p class="banner">The tables below have ${count(extra)} requests more than were counted: a server could not tell whether they had been written.</p>`}`;
}

function details(
  { by_token: tokens, by_endpoint: endpoints, by_surface: surfaces, refusals }: Usage,
  call: PageCall,
): Html | null {
  if (tokens.length === 0) return null;
  const names = new Map(tokens.map(({ key, name }) => [key, name]));
  return html`<h2>Where they came from</h2>
    ${groupTable("By token", "Token", tokens, ({ key }) => tokenCell(key, names.get(key) ?? null, call))}
    ${endpointTable(endpoints)} ${groupTable("By interface", "Interface", surfaces)}
    <h2>Refused requests</h2>
    ${refusalTable(refusals) ?? html`<p>No request was refused.</p>`}`;
}

function tokenCell(tokenId: string, name: string | null, { href }: PageCall): Html {
  const prefix = html`<small class="detail"><code>${tokenPrefix(tokenId)}</code></small>`;
  if (name === null) return html`${prefix}`;
  return html`<a class="name" href="${href(`/settings/tokens/${tokenId}`)}">${name}</a> ${prefix}`;
}

const SURFACES: Readonly<Record<string, string>> = { rest: "REST", mcp: "MCP, by AI agents" };

/** Why requests are refused, by the code of their error. */
const REFUSALS: Readonly<Record<string, string>> = {
  invalid_request: "a parameter was not allowed (400)",
  unauthorized: "the workspace was deleted in the meantime (401)",
  forbidden: "the plan, the billing or the token's rights do not include it (403)",
  not_found: "the requested resource does not exist (404)",
  not_ready: "the store's data was not ready (409)",
  rate_limited: "the daily quota was used up, or too many were sent at once (429)",
  internal_error: "a fault of this service (500)",
};

/** Requests grouped by a key; `nameOf` formats the key for people. */
export function groupTable(
  caption: string,
  head: string,
  groups: readonly UsageGroup[],
  nameOf: (group: UsageGroup) => HtmlValue = ({ key }) => SURFACES[key] ?? key,
): Html {
  return tableOf(caption, groups, [
    [head, nameOf],
    ["Requests", ({ requests }) => count(requests), "number"],
    ["Refused", ({ refused_requests: refused }) => count(refused), "number"],
  ]);
}

/** Requests by endpoint, each in words and with its path. */
export function endpointTable(groups: readonly UsageGroup[]): Html {
  return groupTable("By endpoint", "Endpoint", groups, ({ key }) => {
    const endpoint = (ENDPOINTS as readonly Endpoint[]).find(({ name }) => name === key);
    return endpoint === undefined
      ? key
      : html`${endpoint.summary} <small class="detail"><code>${endpoint.path}</code></small>`;
  });
}

/** Refusals by error code; empty if there are none. */
export function refusalTable(refusals: UsageSummary["refusals"]): Html | null {
  if (refusals.length === 0) return null;
  return tableOf("Refused, by the code of the error", refusals, [
    ["Code", ({ code }) => html`<code>${code}</code>`],
    ["What it means", ({ code }) => REFUSALS[code] ?? "another reason"],
    ["Requests", ({ requests }) => count(requests), "number"],
  ]);
}

/** Days between two names under the columns, where there is room and on a phone. */
const NAME_STEPS = { wide: 5, narrow: 10 } as const;

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** How many requests a day: those that count towards the quota, and the others on top. */
function usageChart(days: readonly UsageDay[]): Html {
  const busiest = days.toSorted((one, other) => totalOf(other) - totalOf(one))[0];
  if (busiest === undefined || totalOf(busiest) === 0) return nothingToDraw("No request in these days.");
  return chartFigure({
    id: "usage-days",
    title: html`Most requests came on ${dayText(busiest.day)}: ${count(totalOf(busiest))}`,
    summary: html`Requests of each day, which begins and ends at 00:00 UTC.`,
    drawing: drawingOf(days),
    legend: [
      { swatch: boxSwatch("series-1"), text: "counted towards the daily quota, below" },
      { swatch: boxSwatch("series-2"), text: "not counted: refused first, or the plan had no quota" },
    ],
    table: dayTable(days),
    readout: "Day",
  });
}

function totalOf({ quota_requests: counted, other_requests: others }: UsageDay): number {
  return counted + others;
}

function drawingOf(days: readonly UsageDay[]): Html {
  const scale = verticalScale(0, max(days, totalOf) ?? 0);
  const { left, middle, width } = columns(days.length);
  const part = (name: string, index: number, from: number, to: number) =>
    barPart(name, { left: left(index), width, from, to }, scale);
  return html`${verticalAxis(scale, (value) => compact.format(value))}${dayAxis(days, middle)}
  ${days.map((row, index) => [
    part("series-1", index, 0, row.quota_requests),
    part("series-2", index, row.quota_requests, totalOf(row)),
  ])}`;
}

/** Days under their columns, counted from the newest. */
function dayAxis(days: readonly UsageDay[], middle: (index: number) => number): Html {
  return html`<g class="axis"
    >${(["wide", "narrow"] as const).map(
      (room) =>
        html`<g class="${room}"
          >${days.map(({ day }, index) => {
            if ((days.length - 1 - index) % NAME_STEPS[room] !== 0) return null;
            const [number, name] = (dayText(day) as string).split(" ");
            return html`<text x="${place(middle(index))}" y="100%" dy="19" text-anchor="middle"
              >${number} ${name}</text
            >`;
          })}</g
        >`,
    )}</g
  >`;
}

function dayTable(days: readonly UsageDay[]): Html {
  const { middle } = columns(days.length);
  return figureTable(
    ["Day", "Counted towards the quota", "Not counted"],
    days.map((row, index) => ({
      head: dayText(row.day),
      cells: [count(row.quota_requests), count(row.other_requests)],
      x: middle(index),
      isStart: index === days.length - 1,
    })),
  );
}
