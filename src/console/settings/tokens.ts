import { listTokensByAttention, RECENT_DAYS } from "../../control/token-list.ts";
import type { AttendedToken } from "../../control/token-attention.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { count } from "../format.ts";
import { definePage } from "../page.ts";
import type { PageCall } from "../page.ts";
import { dataTable } from "../views/table.ts";
import {
  expiryText,
  isoDay,
  lastUsedText,
  makerOf,
  scopeList,
  stateText,
  tokenPrefix,
} from "../views/settings/token-words.ts";

type Data = { tokens: AttendedToken[]; now: Date };

/** Every token of the workspace, those that need somebody first. */
export const tokens = definePage<Data>({
  name: "tokens",
  path: "/settings/tokens",
  right: "tokens.read",
  link: "Tokens",
  takes: [],
  about: async (call) => aboutText((await load(call)).tokens),
  data: load,
  view: ({ tokens: all, now }, call) => ({
    title: "Tokens",
    body: html`<h1>Tokens</h1>
      <p>
        A program or an AI agent sends a token with each request, and reads this workspace with it. Give each one a
        token of its own.
      </p>
      ${!call.entitlements.includes("api_access") && html`<p class="banner">The plan of this workspace does not include the API: requests with a token are refused.</p>`}
      <p><a href="${call.href("/settings/tokens/new")}">Make a token</a></p>
      ${list(all, call, now)}`,
  }),
});

async function load(call: PageCall): Promise<Data> {
  const { database, actor, workspace, now } = await call.acting();
  return { tokens: await listTokensByAttention(database, actor, workspace, now), now };
}

function aboutText(all: readonly AttendedToken[]): string {
  const working = all.filter(({ status }) => status === "active").length;
  const ending = all.filter(({ attention }) => attention === "expired" || attention === "expiring").length;
  const words = `What programs and AI agents read this workspace with: ${working} ${working === 1 ? "works" : "work"}`;
  return `${words}${ending === 0 ? "" : `, ${ending} ${ending === 1 ? "needs" : "need"} a replacement`}.`;
}

function list(all: readonly AttendedToken[], call: PageCall, now: Date): Html {
  const [live, over] = [all.filter((token) => !token.isOver), all.filter((token) => token.isOver)];
  return html`${
    live.length === 0
      ? html`<p>No token works at present.</p>`
      : html`${table("Tokens in use", live, call, now)}
          <p class="shown">
            “Last used” is up to 15 minutes old. Requests are those of ${RECENT_DAYS} days, refused ones too, up to
            10 seconds behind.
          </p>`
  }
  ${
    over.length > 0 &&
    html`<details>
      <summary>Tokens that have ended (${over.length})</summary>
      ${table("Tokens that have ended", over, call, now)}
    </details>`
  }`;
}

const COLUMNS = [
  { text: "Token" },
  { text: "State" },
  { text: "Expires" },
  { text: "Last used" },
  { text: `Requests, ${RECENT_DAYS} days`, isNumber: true },
  { text: "It may read" },
  { text: "Made by" },
] as const;

function table(caption: string, rows: readonly AttendedToken[], { href }: PageCall, now: Date): Html {
  return dataTable(
    caption,
    COLUMNS,
    rows.map((token) => [
      html`<a class="name" href="${href(`/settings/tokens/${token.token_id}`)}">${token.name}</a>
        <small class="detail"><code>${tokenPrefix(token.token_id)}</code></small>`,
      stateText(token),
      expiryText(token, now),
      lastUsedText(token, now),
      html`${count(token.requests)}`,
      html`${scopeList(token.scopes)}`,
      html`${makerOf(token)} <br /><small>${isoDay(token.created_at)}</small>`,
    ]),
  );
}
