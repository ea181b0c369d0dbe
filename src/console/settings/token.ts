import { ApiError } from "../../contract/errors.ts";
import { hasRight } from "../../control/rights.ts";
import { endToken, rotateToken } from "../../control/token.ts";
import { showToken } from "../../control/token-list.ts";
import type { AttendedToken } from "../../control/token-attention.ts";
import { showTokenUsage } from "../../control/usage.ts";
import type { UsageSummary } from "../../control/usage-summary.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import type { Action } from "../action.ts";
import { definePage } from "../page.ts";
import type { PageCall } from "../page.ts";
import { facts } from "../views/facts.ts";
import { filledIn, refusal, textField } from "../views/form.ts";
import { issuedView } from "../views/settings/token-issued.ts";
import {
  expiryText,
  isoInstant,
  lastUsedText,
  makerOf,
  scopeList,
  stateText,
  tokenPrefix,
} from "../views/settings/token-words.ts";
import { endpointTable, groupTable, refusalTable } from "../views/settings/usage-tables.ts";
import { onceMade, requestKeyField } from "./token-new.ts";

const PATH = "/settings/tokens/:id";

/** What the form offers as an overlap, in its order. */
const OVERLAPS = [
  ["0h", "It ends at once"],
  ["1h", "It works for 1 more hour"],
  ["24h", "It works for 24 more hours"],
  ["7d", "It works for 7 more days"],
] as const;
const DEFAULT_OVERLAP = "24h";

type Data = { token: AttendedToken; usage: UsageSummary; now: Date };

/** One token: what it may do, what it does, and how it is replaced or ended. */
export const tokenPage = definePage<Data>({
  name: "token",
  path: PATH,
  right: "tokens.read",
  link: null,
  takes: [],
  data: async (call) => {
    const { database, actor, workspace, now } = await call.acting();
    const asked = { tokenId: idOf(call), now };
    const token = await showToken(database, actor, workspace, asked);
    if (token === null) throw new ApiError("not_found", "There is no such token.");
    return { token, usage: await showTokenUsage(database, actor, workspace, asked), now };
  },
  view: ({ token, usage, now }, call) => ({
    title: `Token ${token.name}`,
    body: html`<p><a href="${call.href("/settings/tokens")}">Tokens</a></p>
      <h1>${token.name}</h1>
      ${details(token, call, now)}
      <h2>What it was used for, in 30 days</h2>
      ${
        usage.by_endpoint.length === 0
          ? html`<p>No request in these 30 days.</p>`
          : html`${endpointTable(usage.by_endpoint)}
            ${groupTable("Requests by surface", "Surface", usage.by_surface)} ${refusalTable(usage.refusals)}
            <p class="shown">These counts are up to 10 seconds behind.</p>`
      }
      ${rotateForm(token, call)} ${revokeForm(token, call)}`,
  }),
});

export const tokenActions: readonly Action[] = [
  {
    name: "token.rotate",
    path: `${PATH}/rotate`,
    right: "token.rotate",
    page: tokenPage,
    perform: async (call) => {
      const { form } = call;
      const { database, actor, workspace, keys, now } = await call.acting();
      const tokenId = idOf(call);
      const overlap = form.get("overlap") ?? "";
      const requestKey = form.get("request_key") ?? "";
      return onceMade(call, async () => {
        const request = { tokenId, overlap, requestKey, now };
        const issued = await rotateToken(database, actor, workspace, keys.tokenPepper, request);
        return { view: issuedView(call, issued) };
      });
    },
  },
  {
    name: "token.revoke",
    path: `${PATH}/revoke`,
    right: "token.revoke",
    page: tokenPage,
    perform: async (call) => {
      const { database, actor, workspace } = await call.acting();
      const typedName = call.form.get("name") ?? "";
      await endToken(database, actor, workspace, { tokenId: idOf(call), typedName });
      return {
        href: call.href("/settings/tokens"),
        done: "The token is revoked: the next request with it is refused.",
      };
    },
  },
];

function idOf({ path }: PageCall): string {
  return path["id"] ?? "";
}

function details(token: AttendedToken, call: PageCall, now: Date): Html {
  const linkTo = (id: string): Html =>
    html`<a href="${call.href(`/settings/tokens/${id}`)}"><code>${tokenPrefix(id)}</code></a>`;
  const { replaces, replaced_by: replacedBy, isUsedSinceReplaced } = token;
  const use = isUsedSinceReplaced === true ? "still used since then" : "not used since then";
  return facts([
    { name: "It begins with", value: html`<code>${tokenPrefix(token.token_id)}</code>` },
    { name: "State", value: stateText(token) },
    { name: "Expires", value: expiryText(token, now) },
    { name: "Last used", value: lastUsedText(token, now), note: "up to 15 minutes old" },
    { name: "It may read", value: html`${scopeList(token.scopes)}` },
    { name: "Made by", value: html`${makerOf(token)}`, note: isoInstant(token.created_at) },
    ...(token.revoked_at === null ? [] : [{ name: "Revoked", value: html`${isoInstant(token.revoked_at)}` }]),
    ...(replaces === null ? [] : [{ name: "It replaces", value: linkTo(replaces) }]),
    ...(replacedBy === null ? [] : [{ name: "Replaced by", value: linkTo(replacedBy), note: use }]),
  ]);
}

/** Where there is no form any more, why the last one was refused. */
function rotateForm(token: AttendedToken, call: PageCall): Html | null {
  const action = "token.rotate";
  const isOffered = token.status === "active" && token.replaced_by === null;
  if (!isOffered || !hasRight(call.role, action)) return refusal(call, action);
  const chosen = filledIn(call, action, "overlap", DEFAULT_OVERLAP);
  return html`<h2>Replace it with a new one</h2>
    <p>
      The new token has the same name, rights and lifetime. Choose how long this one goes on working, so that whatever uses it
      can change over.
    </p>
    ${refusal(call, action)}
    <form method="post" action="${call.href(`/settings/tokens/${token.token_id}/rotate`)}">
      ${requestKeyField(call, action)}
      <fieldset>
        <legend>This token</legend>
        ${OVERLAPS.map(
          ([value, text]) =>
            html`<label class="check"
              ><input type="radio" name="overlap" value="${value}" ${value === chosen && html` checked=""`} />
              ${text}</label
            >`,
        )}
      </fieldset>
      <button>Make the new token</button>
    </form>`;
}

function revokeForm(token: AttendedToken, call: PageCall): Html | null {
  const action = "token.revoke";
  if (token.status !== "active" || !hasRight(call.role, action)) return refusal(call, action);
  return html`<h2>Revoke it</h2>
    <p>The next request with this token is refused. This cannot be taken back.</p>
    ${refusal(call, action)}
    <form method="post" action="${call.href(`/settings/tokens/${token.token_id}/revoke`)}">
      ${textField(call, action, { name: "name", label: "Type its name", hint: token.name })}
      <button>Revoke this token</button>
    </form>`;
}
