import {
  clientText,
  curlRequestText,
  pathText,
  queryLine,
  toolCall,
} from "../../contract/written-request.ts";
import { html, type Html } from "../../lib/html.ts";
import type { MadeRequest } from "../page.ts";
import { codeToCopy } from "./blocks.ts";

/**
 * "Get this from the API": each request of a page as curl, as an MCP tool call, for `./returns query` and as a program, written as
 * in the documents. `address` is where the service lies. `data-path` is the request's path with its query.
 */
export function apiBox(requests: readonly MadeRequest[], address: string): Html {
  if (requests.length === 0) return html``;
  return html`<details class="api-box">
    <summary>Get this from the API</summary>
    <p>
      To get the figures of this page from a program, copy a request and put an access
      token of this workspace in the variable <code>TOKEN</code>.
    </p>
    <p>
      ${costText(requests.length)} Viewing this page uses none. <a href="/docs">Guides</a> ·
      <a href="/docs/reference">Reference</a>
    </p>
    ${requests.map((request) => requestPart(request, address))}
  </details>`;
}

function requestPart(request: MadeRequest, address: string): Html {
  const call = toolCall(request);
  return html`<section data-request="${request.name}" data-path="${pathText(request)}">
    <h2>${request.endpoint.summary}</h2>
    <p>${needsText(request)}</p>
    ${written("curl", "In a terminal: curl", curlRequestText(address, request))}
    ${
      call === null
        ? html`<p>AI agents have no tool for this request.</p>`
        : written("mcp", "For an AI agent: MCP tools/call", JSON.stringify(call, null, 2))
    }
    ${written("query", "In a checkout of the service: ./returns query", queryLine(address, request))}
    ${written("client", "In a program: TypeScript", clientText(address, request))}
  </section>`;
}

function written(form: string, title: string, text: string): Html {
  return html`<h3>${title}</h3>
    ${codeToCopy(form, text)}`;
}

function costText(requests: number): string {
  return requests === 1
    ? "It takes 1 request of the daily quota."
    : `Together these take ${requests} requests of the daily quota.`;
}

function needsText({ endpoint }: MadeRequest): Html {
  const plan =
    endpoint.entitlements.includes("data_export") && html`, and a plan with <code>data_export</code>`;
  return html`Needs a token with the scope <code>${endpoint.scope}</code>${plan}.`;
}
