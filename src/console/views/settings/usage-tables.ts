import type { Endpoint } from "../../../contract/endpoint.ts";
import { ENDPOINTS } from "../../../contract/registry.ts";
import type { UsageGroup, UsageSummary } from "../../../control/usage-summary.ts";
import { html } from "../../../lib/html.ts";
import type { Html } from "../../../lib/html.ts";
import { count } from "../../format.ts";
import { dataTable } from "../table.ts";

const SURFACES: Readonly<Record<string, string>> = { rest: "REST", mcp: "MCP, by AI agents" };

/** Why requests are refused, by the code of their error. */
const REFUSALS: Readonly<Record<string, string>> = {
  invalid_request: "a parameter was not allowed (400)",
  unauthorized: "the workspace was deleted meanwhile (401)",
  forbidden: "the plan, the billing or the token's rights do not include it (403)",
  not_found: "what was asked for does not exist (404)",
  not_ready: "the store's data was not ready (409)",
  rate_limited: "the daily quota was used up, or too many were sent at once (429)",
  internal_error: "a fault of this service (500)",
};

/** Requests by what they have in common; `nameOf` writes its key for people. */
export function groupTable(
  caption: string,
  head: string,
  groups: readonly UsageGroup[],
  nameOf: (group: UsageGroup) => Html = ({ key }) => html`${SURFACES[key] ?? key}`,
): Html {
  return dataTable(
    caption,
    [{ text: head }, { text: "Requests", isNumber: true }, { text: "Of these refused", isNumber: true }],
    groups.map((group) => [
      nameOf(group),
      html`${count(group.requests)}`,
      html`${count(group.refused_requests)}`,
    ]),
  );
}

/** Requests by endpoint, each in words and with its path. */
export function endpointTable(groups: readonly UsageGroup[]): Html {
  return groupTable("Requests by endpoint", "Endpoint", groups, ({ key }) => {
    const endpoint = (ENDPOINTS as readonly Endpoint[]).find(({ name }) => name === key);
    return endpoint === undefined
      ? html`${key}`
      : html`${endpoint.summary} <small class="detail"><code>${endpoint.path}</code></small>`;
  });
}

/** What was refused, by the code of the error; nothing where nothing was. */
export function refusalTable(refusals: UsageSummary["refusals"]): Html | null {
  if (refusals.length === 0) return null;
  return dataTable(
    "Refused requests",
    [{ text: "Code" }, { text: "What it means" }, { text: "Requests", isNumber: true }],
    refusals.map(({ code, requests }) => [
      html`<code>${code}</code>`,
      html`${REFUSALS[code] ?? "another reason"}`,
      html`${count(requests)}`,
    ]),
  );
}
