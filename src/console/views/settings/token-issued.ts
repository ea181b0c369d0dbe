import { curlLine, mcpCommandLine, mcpConfigText } from "../../../contract/written-request.ts";
import { html } from "../../../lib/html.ts";
import type { PageCall, View } from "../../page.ts";
import { codeToCopy } from "../code.ts";
import { endpointsOf } from "./token-words.ts";

/** A token that was made just now: the only time that it is shown. */
export type ShownToken = { token: string; name: string; scopes: readonly string[] };

/** The token, a request with it, and the configuration of an MCP client. */
export function issuedView({ origin, href }: PageCall, { token, name, scopes }: ShownToken): View {
  const path = scopes.flatMap(endpointsOf)[0]?.path ?? "/api/v1/entities";
  return {
    title: "Your new token",
    isSecret: true,
    body: html`<h1>Your new token</h1>
      <p class="banner" role="status">
        This is the token “${name}”. It is shown this once: copy it now, and keep it where you keep passwords.
      </p>
      ${codeToCopy("token", token)}
      <h2>Try it</h2>
      <p>In a terminal, a request with this token:</p>
      ${codeToCopy("curl", curlLine(origin, path, token))}
      <h2>Give it to an AI agent</h2>
      <p>Claude Code, in a terminal:</p>
      ${codeToCopy("mcp-command", mcpCommandLine(origin, token))}
      <p>
        Clients that read a file of JSON, such as <code>.cursor/mcp.json</code>;
        <a href="/docs/mcp">other clients</a>:
      </p>
      ${codeToCopy("mcp-config", mcpConfigText(origin, token))}
      <p class="shown">Nobody can see the token again after this page.</p>
      <form method="get" action="${href("/settings/tokens")}">
        <button>I have stored it</button>
      </form>`,
  };
}
