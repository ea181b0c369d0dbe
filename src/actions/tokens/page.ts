import { randomUUID } from "node:crypto";
import { tokenPrefix } from "../../access/token.ts";
import { SCOPES, type Endpoint, type Scope } from "../../contract/endpoint.ts";
import { ApiError } from "../../contract/errors.ts";
import { ENDPOINTS } from "../../contract/registry.ts";
import { curlLine, mcpCommandLine, mcpConfigText } from "../../contract/written-request.ts";
import { checkBox, formFor, formOf, radios } from "../../console/action-form.ts";
import { count, isoDay, isoInstant } from "../../console/format.ts";
import { definePage } from "../../console/page.ts";
import type { ActionCall, FormOutcome, PageCall, View } from "../../console/page.ts";
import { codeToCopy, fact, facts, tableOf } from "../../console/views/blocks.ts";
import { boxes, filledIn, textField } from "../../console/views/form.ts";
import { html, type Html } from "../../lib/html.ts";
import { relativeTime } from "../../lib/relative-time.ts";
import { readList, type Done } from "../action.ts";
import { receiverOf } from "../apps/actions.ts";
import { endpointTable, groupTable, refusalTable } from "../usage/page.ts";
import { showTokenUsage, type UsageSummary } from "../usage/usage.ts";
import {
  AlreadyMade,
  createToken,
  RECENT_DAYS,
  revokeToken,
  rotateToken,
  SCOPE_WORDS,
  tokenList,
} from "./actions.ts";
import type { AttendedToken } from "./attention.ts";

const PATH = "/settings/tokens";
const NEW_PATH = "/settings/tokens/new";
const TOKEN_PATH = "/settings/tokens/:token_id";
const DAY_MS = 86_400_000;

/** The form's expiry options, in order; "date" uses the field next to it. */
const EXPIRIES = [
  ["30d", "30 days"],
  ["90d", "90 days"],
  ["365d", "365 days"],
  ["date", "on a day of your choice"],
  ["never", html`never <small class="tag">works until it is revoked</small>`],
] as const;

/** The form's overlap options, in order. */
const OVERLAPS = [
  ["0h", "It ends at once"],
  ["1h", "It works for 1 more hour"],
  ["24h", "It works for 24 more hours"],
  ["7d", "It works for 7 more days"],
] as const;

type TokenData = { token: AttendedToken; usage: UsageSummary; now: Date };
type ListData = { tokens: AttendedToken[]; now: Date };

async function load(call: PageCall): Promise<ListData> {
  const caller = await call.caller();
  return { tokens: await readList(tokenList, caller), now: caller.now };
}

/** Every token of the workspace, those that need somebody first. */
const tokensPage = definePage<ListData>({
  name: "tokens",
  path: PATH,
  right: tokenList,
  link: "Tokens",
  about: async (call) => aboutText((await load(call)).tokens),
  data: load,
  view: ({ tokens, now }, call) => ({
    title: "Tokens",
    body: html`<h1>Tokens</h1>
      <p>
        Programs and AI agents send a token with each request to read this workspace. Create a separate token for
        each of them.
      </p>
      ${call.entitlements.includes("api_access") ? html`<p><a href="${call.href(NEW_PATH)}">${createToken.title}</a></p>` : NO_API}
      ${list(tokens, call, now)}`,
  }),
});

/** Tokens of an earlier plan are kept, and work again when the plan allows it. */
const NO_API = html`<p class="banner">
  The plan of this workspace does not include the API: no token can be created, and requests with a token are
  refused.
</p>`;

const newTokenPage = definePage<null>({
  name: "token-new",
  path: NEW_PATH,
  right: createToken,
  data: () => Promise.resolve(null),
  view: (_data, call) => ({
    title: createToken.title,
    body: html`<p><a href="${call.href(PATH)}">Tokens</a></p>
      <h1>${createToken.title}</h1>
      ${formFor(call, createToken, {
        kept: { request_key: requestKey(call, createToken.name) },
        drawn: { scopes: scopeBoxes(call), expires: expiryFields(call) },
      })}`,
  }),
  forms: [
    formOf(createToken, {
      texts: expiryTexts,
      follow: ({ secret }, call) => ({
        view: issuedView(call, {
          token: secret?.reveal() ?? "",
          name: call.form.get("name")?.trim() ?? "",
          scopes: call.form.getAll("scopes"),
        }),
      }),
      instead: leadToToken,
    }),
  ],
});

/** One token: its rights, its usage, and its replacement and revocation. */
const tokenPage = definePage<TokenData>({
  name: "token",
  path: TOKEN_PATH,
  right: tokenList,
  data: async (call) => {
    const caller = await call.caller();
    const { database, actor, workspace, now } = caller;
    const tokenId = call.path["token_id"] ?? "";
    const token = (await readList(tokenList, caller)).find((each) => each.token_id === tokenId);
    if (token === undefined) throw new ApiError("not_found", "There is no such token.");
    return { token, usage: await showTokenUsage(database, actor, workspace, { tokenId, now }), now };
  },
  view: ({ token, usage, now }, call) => ({
    title: `Token ${token.name}`,
    body: html`<p><a href="${call.href(PATH)}">Tokens</a></p>
      <h1>${token.name}</h1>
      ${details(token, call, now)}
      <h2>Usage in the last 30 days</h2>
      ${
        usage.by_endpoint.length === 0
          ? html`<p>No requests in the last 30 days.</p>`
          : html`${endpointTable(usage.by_endpoint)}
            ${groupTable("By interface", "Interface", usage.by_surface)} ${refusalTable(usage.refusals)}
            <p class="shown">These counts are up to 10 seconds behind.</p>`
      }
      ${rotatePart(token, call)} ${revokePart(token, call)}`,
  }),
  forms: [
    formOf(rotateToken, {
      path: `${TOKEN_PATH}/rotate`,
      follow: ({ result, secret }, call) => ({
        view: issuedView(call, { ...result, token: secret?.reveal() ?? "" }),
      }),
      instead: leadToToken,
    }),
    formOf(revokeToken, {
      path: `${TOKEN_PATH}/revoke`,
      follow: ({ done }: Done<unknown>, call) => ({ href: call.href(PATH), done }),
    }),
  ],
});

export const TOKEN_PAGES = [tokensPage, newTokenPage, tokenPage] as const;

/** A form that has already created its token redirects to it. */
function leadToToken(error: unknown, call: ActionCall): FormOutcome | undefined {
  if (!(error instanceof AlreadyMade)) return undefined;
  const done =
    "This form has already created this token; no second one was created. A token is shown only once.";
  return { href: call.href(`${PATH}/${error.tokenId}`), done };
}

/** Names a form: sent twice it creates one token. A refused form keeps its name. */
function requestKey(call: PageCall, action: string): string {
  return filledIn(call, action, "request_key", randomUUID());
}

function expiryTexts(name: string, form: URLSearchParams): readonly string[] | undefined {
  if (name !== "expires") return undefined;
  const expiry = form.get("expires") ?? "";
  if (expiry === "never") return [];
  // A value that is neither an option nor a day gets the field's error.
  return [expiry === "date" ? form.get("expires_on") || "no day" : expiry || "nothing"];
}

function scopeBoxes(call: PageCall): Html {
  return boxes(
    call,
    createToken.name,
    { name: "scopes", legend: createToken.input.scopes.label },
    SCOPES.map((scope) => {
      const endpoints = endpointsOf(scope);
      const isMissing = endpoints.some(({ entitlements }) =>
        entitlements.some((each) => !call.entitlements.includes(each)),
      );
      return html`<p>
        ${checkBox(call, createToken.name, "scopes", { value: scope, text: SCOPE_WORDS[scope] })}
        <small
          ><code>${scope}</code> gives access to ${endpoints.map(({ path }, index) => html`${index > 0 && ", "}<code>${path}</code>`)}.
          ${isMissing && "The plan of this workspace does not include it."}</small
        >
      </p>`;
    }),
  );
}

function expiryFields(call: PageCall): Html {
  const { label } = createToken.input.expires;
  return html`${radios(call, createToken.name, "expires", { legend: label, choices: EXPIRIES, value: "90d" })}
  ${textField(call, createToken.name, { name: "expires_on", label: "Day", type: "date", isRequired: false, hint: "For “on a day of your choice”: it ends as this day begins, in UTC." })}`;
}

/** Where the form is no longer shown: why the last one was refused. */
function rotatePart(token: AttendedToken, call: PageCall): Html | null {
  const isOffered = token.status === "active" && token.replaced_by === null && !isApp(token);
  const form = formFor(call, rotateToken, {
    kept: { request_key: requestKey(call, rotateToken.name) },
    drawn: {
      overlap: radios(call, rotateToken.name, "overlap", {
        legend: "This token",
        choices: OVERLAPS,
        value: "24h",
      }),
    },
    isOffered,
  });
  if (!isOffered || form === null) return form;
  return html`<h2>${rotateToken.title}</h2>
    <p>
      The new token has the same name, rights and lifetime. Choose how long this one keeps working, so that programs
      have time to switch to the new one.
    </p>
    ${form}`;
}

function revokePart(token: AttendedToken, call: PageCall): Html | null {
  const isOffered = token.status === "active";
  const { label } = revokeToken.input.typed_name;
  const form = formFor(call, revokeToken, {
    variant: "danger",
    drawn: {
      typed_name: textField(call, revokeToken.name, { name: "typed_name", label, hint: token.name }),
    },
    isOffered,
  });
  if (!isOffered || form === null) return form;
  return html`<h2>${revokeToken.title}</h2>
    <p>The next request with this token is refused. This cannot be undone.</p>
    ${form}`;
}

function details(token: AttendedToken, call: PageCall, now: Date): Html {
  const linkTo = (id: string): Html =>
    html`<a href="${call.href(`${PATH}/${id}`)}"><code>${tokenPrefix(id)}</code></a>`;
  const { replaces, replaced_by: replacedBy, is_used_since_replaced: isUsed, app_redirect_uri: app } = token;
  const use = isUsed === true ? "still used since then" : "not used since then";
  return facts([
    fact("Starts with", html`<code>${tokenPrefix(token.token_id)}</code>`),
    fact("State", stateText(token)),
    fact("Expires", dated(token.expires_at, now)),
    fact("Last used", dated(token.last_used_at, now), "up to 15 minutes old"),
    fact("Can read", scopeList(token.scopes)),
    app !== null && fact("Connected app", receiverOf(app), "the name that the app gave itself"),
    fact("Created by", makerOf(token), isoInstant(token.created_at)),
    token.revoked_at !== null && fact("Revoked", isoInstant(token.revoked_at)),
    replaces !== null && fact("Replaces", linkTo(replaces)),
    replacedBy !== null && fact("Replaced by", linkTo(replacedBy), use),
  ]);
}

function aboutText(all: readonly AttendedToken[]): string {
  const working = all.filter(({ status }) => status === "active").length;
  const ending = all.filter(({ attention }) => attention === "expired" || attention === "expiring").length;
  const words = `Access for programs and AI agents: ${working} ${working === 1 ? "token works" : "tokens work"}`;
  return `${words}${ending === 0 ? "" : `, ${ending} ${ending === 1 ? "needs" : "need"} a replacement`}.`;
}

function list(all: readonly AttendedToken[], call: PageCall, now: Date): Html {
  const [running, over] = [all.filter((token) => !token.is_over), all.filter((token) => token.is_over)];
  const [live, apps] = [running.filter((token) => !isApp(token)), running.filter(isApp)];
  return html`${
    live.length === 0
      ? html`<p>There are no active tokens.</p>`
      : html`${table("Tokens in use", live, call, now)}
          <p class="shown">
            “Last used” is up to 15 minutes old. Requests cover ${RECENT_DAYS} days, including refused ones, and
            are up to 10 seconds behind.
          </p>`
  }
  ${
    apps.length > 0 &&
    html`${table("Connected apps", apps, call, now)}
      <p class="shown">A member allowed these apps by signing in. Each expires unless it is used within 30 days.</p>`
  }
  ${
    over.length > 0 &&
    html`<details>
      <summary>Expired and revoked tokens (${over.length})</summary>
      ${table("Expired and revoked tokens", over, call, now)}
    </details>`
  }`;
}

function table(caption: string, rows: readonly AttendedToken[], { href }: PageCall, now: Date): Html {
  return tableOf(caption, rows, [
    [
      "Token",
      ({ name, token_id: id }) =>
        html`<a class="name" href="${href(`${PATH}/${id}`)}">${name}</a>
          <small class="detail"><code>${tokenPrefix(id)}</code></small>`,
    ],
    ["State", stateText],
    ["Expires", ({ expires_at: at }) => dated(at, now)],
    ["Last used", ({ last_used_at: at }) => dated(at, now)],
    [`Requests, ${RECENT_DAYS} days`, ({ requests }) => count(requests), "number"],
    ["Can read", ({ scopes }) => scopeList(scopes)],
    ["Created by", (token) => html`${makerOf(token)} <br /><small>${isoDay(token.created_at)}</small>`],
  ]);
}

/** The token, a request with it, and the configuration of an MCP client: the only time that it is shown. */
function issuedView(
  { origin, href }: PageCall,
  { token, name, scopes }: { token: string; name: string; scopes: readonly string[] },
): View {
  const path = scopes.flatMap(endpointsOf)[0]?.path ?? "/api/v1/entities";
  return {
    title: "Your new token",
    body: html`<h1>Your new token</h1>
      <p class="banner" role="status">
        This is the token “${name}”. It is shown only once: copy it now and store it where you keep passwords.
      </p>
      ${codeToCopy("token", token)}
      <h2>Try it</h2>
      <p>In a terminal, a request with this token:</p>
      ${codeToCopy("curl", curlLine(origin, path, token))}
      <h2>Give it to an AI agent</h2>
      <p>Claude Code, in a terminal:</p>
      ${codeToCopy("mcp-command", mcpCommandLine(origin, token))}
      <p>
        Clients that read a JSON file, such as <code>.cursor/mcp.json</code>;
        <a href="/docs/mcp">other clients</a>:
      </p>
      ${codeToCopy("mcp-config", mcpConfigText(origin, token))}
      <p class="shown">Nobody can see the token again after this page.</p>
      <form method="get" action="${href(PATH)}">
        <button>I have stored it</button>
      </form>`,
  };
}

function endpointsOf(scope: string): Endpoint[] {
  return (ENDPOINTS as readonly Endpoint[]).filter((endpoint) => endpoint.scope === scope);
}

function isApp({ app_redirect_uri: uri }: AttendedToken): boolean {
  return uri !== null;
}

/** Scopes in words; a scope unknown to this version is shown unchanged. */
function scopeList(scopes: readonly string[]): string {
  return scopes.map((scope) => SCOPE_WORDS[scope as Scope] ?? scope).join(" · ");
}

function makerOf({ created_by: actor, maker_name: name }: AttendedToken): string {
  if (name !== null) return name;
  return actor.startsWith("user:") ? "removed member" : actor;
}

/** "in 9 days", "in 5 h", "12 days ago". */
function distance(at: Date, now: Date): string {
  const days = Math.floor(Math.abs(at.getTime() - now.getTime()) / DAY_MS);
  if (days < 2) return relativeTime(at, now);
  return at < now ? `${days} days ago` : `in ${days} days`;
}

/** A day and how far away it is. */
function dated(at: Date | null, now: Date): Html {
  return at === null ? html`never` : html`${isoDay(at)} <br /><small>${distance(at, now)}</small>`;
}

/** A token's state, and why it needs attention. */
function stateText({ status, attention, replaced_by, is_used_since_replaced: isUsed }: AttendedToken): Html {
  if (status === "revoked") return html`revoked`;
  if (status === "expired") return html`<strong>expired</strong>`;
  if (replaced_by !== null) {
    return html`being replaced <small>${isUsed === true ? "still used" : "not used since"}</small>`;
  }
  if (attention === "expiring") return html`works <small class="tag">expires soon</small>`;
  if (attention === "unused") return html`works <small class="tag">unused for 90 days</small>`;
  return html`works`;
}
