import { mayDo } from "../actions/right.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { billingBanner, PLAN_PATH } from "../actions/plan/page.ts";
import { DATA_PATH, erasureBanner } from "../actions/workspace/page.ts";
import type { MemberAdmission } from "../access/admit-member.ts";
import { ApiError } from "../contract/errors.ts";
import { parseQueryString } from "../http/query-string.ts";
import { html, renderHtml, type Html } from "../lib/html.ts";
import { CONSOLE_ASSETS, layout, switchAddress, type Frame, type NavigationLink } from "./layout.ts";
import { contentSecurityPolicy } from "./request-rules.ts";
import type { Cookie } from "../http/cookie.ts";
import { addressOf, type OpenCall } from "./page-call.ts";
import { createNameCheck } from "./page-names.ts";
import type { Page, View } from "./page.ts";
import { PAGES, SETTINGS, SETTINGS_OVERVIEW, SETTINGS_PAGES } from "./registry.ts";
import { SEARCH_PATH } from "./pages/products.ts";
import { sendHtml, stateMarkup } from "./send.ts";
import { NOT_FOUND, type StatePage } from "./state-page.ts";
import { tableCsv } from "./views/csv-link.ts";
import { apiBox } from "./views/api-box.ts";
import { asOf, printedFooter } from "./views/as-of.ts";
import { inPageWords } from "./views/form.ts";
import { imageSources } from "./views/picture.ts";

export type Exchange = { request: FastifyRequest; reply: FastifyReply };
/** A page's content and status. */
type Shown = View & { status: number };

/** Shows pages of a workspace in their frame. */
export type PageSender = {
  /** A page for its query, or one of its tables as a file; a query that the API refuses shows the form with the API's errors. */
  page(
    exchange: Exchange,
    page: Page,
    member: MemberAdmission,
    call: OpenCall,
    table: string | null,
  ): Promise<FastifyReply>;
  /** The outcome of an action, such as its page with a refused form. */
  view(exchange: Exchange, page: Page | null, member: MemberAdmission, shown: Shown): Promise<FastifyReply>;
};

export function createPageSender(done: Cookie): PageSender {
  const framed = (exchange: Exchange, page: Page | null, member: MemberAdmission, shown: Shown) => {
    const policy = contentSecurityPolicy(imageSources(member.workspace.sources), shown.formTargets);
    exchange.reply.header("Content-Security-Policy", policy);
    const sentence = done.read(exchange.request.headers.cookie);
    if (sentence !== null) exchange.reply.header("Set-Cookie", done.clear);
    return {
      title: shown.title,
      scripts: [CONSOLE_ASSETS.pageScript],
      userName: member.userName,
      workspace: workspaceOf(member, page, exchange.request),
      isRunning: shown.isRunning,
      done: sentence,
      above: bannerOf(member),
      body: shown.body,
    };
  };
  return {
    view: async (exchange, page, member, shown) => {
      const markup = layout(framed(exchange, page, member, shown));
      return sendHtml(exchange.reply, shown.status, markup);
    },
    page: async (exchange, page, member, call, table) => {
      const { request, reply } = exchange;
      const shown = await viewOf(page, call);
      if (table !== null && shown.status === 200) {
        const text = tableCsv(renderHtml(shown.body), table);
        if (text === null) return sendState(exchange, NOT_FOUND, member);
        reply.header("Content-Disposition", `attachment; filename="${page.name}-${table}.csv"`);
        return reply.type("text/csv; charset=utf-8").send(text);
      }
      const { origin } = call;
      const frame = framed(exchange, page, member, shown);
      // A refused query shows its form and no figure.
      const answers = shown.status === 200 ? call.answers() : [];
      const markup = layout({
        ...frame,
        above: html`${frame.above}${asOf(answers, member)}`,
        below: shown.status === 200 && call.requests.length > 0 ? apiBox(call.requests, origin) : null,
        printed: printedFooter(`${origin}${request.raw.url}`, answers, member),
      });
      return sendHtml(reply, shown.status, markup);
    },
  };
}

const checkNames = createNameCheck([...PAGES, ...SETTINGS]);

/** A query that the API refuses shows the page's form with the API's sentences, where the page has one. */
async function viewOf(page: Page, call: OpenCall): Promise<Shown> {
  try {
    checkNames(page, Object.keys(call.query));
    return { status: 200, ...page.view(await page.data(call), call) };
  } catch (error) {
    const isRefusal = error instanceof ApiError && error.code === "invalid_request";
    if (!isRefusal || page.refused === undefined) throw error;
    const problems = error.problems.map(({ name, sentence }) => ({ name, sentence: inPageWords(sentence) }));
    return { status: 400, ...(await page.refused({ ...call, problems })) };
  }
}

/** An error or state page, with the navigation of the member's workspace. */
export async function sendState(
  { request, reply }: Exchange,
  state: StatePage,
  member: MemberAdmission | null,
): Promise<FastifyReply> {
  const workspace = member === null ? null : workspaceOf(member, null, request);
  const frame = { scripts: [], userName: member?.userName ?? null, workspace };
  return sendHtml(reply, state.status, stateMarkup(reply, state, frame));
}

/** The navigation of a workspace: every page of the registry that is listed, and that the member's role opens. */
function workspaceOf(
  { workspace, workspaceName, role }: MemberAdmission,
  current: Page | null,
  { raw }: FastifyRequest,
): Frame["workspace"] {
  const { shopDomain } = workspace;
  const linkTo = ({ path, link }: Page) => ({
    href: addressOf(shopDomain, path),
    text: link ?? "",
    current: placeOf(path, current),
  });
  const listed = (pages: readonly Page[]) =>
    pages.filter(({ link, right }) => link !== null && mayDo(role, right)).map(linkTo);
  const isInSettings = SETTINGS.some((page) => page === current);
  return {
    name: workspaceName,
    href: addressOf(shopDomain, ""),
    switchHref: switchAddress(current, raw.url ?? ""),
    links: listed(PAGES),
    search: { href: addressOf(shopDomain, SEARCH_PATH), text: searchOf(raw.url, current) },
    settings: { ...linkTo(SETTINGS_OVERVIEW), links: isInSettings ? listed(SETTINGS_PAGES) : [] },
  };
}

/** The search text, if a search page is shown. */
function searchOf(address: string | undefined, current: Page | null): string {
  if (current?.path !== SEARCH_PATH) return "";
  const text = parseQueryString(address ?? "").values.get("q");
  return typeof text === "string" ? text : "";
}

/** Whether a navigation link leads to the current page, or to its list. */
function placeOf(path: string, current: Page | null): NavigationLink["current"] {
  if (path === current?.path) return "page";
  const isList =
    path.startsWith(`${SETTINGS_OVERVIEW.path}/`) && current?.path.startsWith(`${path}/`) === true;
  return isList ? "true" : null;
}

/** What ends soon. */
function bannerOf({ eraseAfter, billingEndsAt, isBillingActive, workspace }: MemberAdmission): Html | null {
  const at = (path: string): string => addressOf(workspace.shopDomain, path);
  if (eraseAfter !== null) return erasureBanner(eraseAfter, at(DATA_PATH));
  return isBillingActive ? billingBanner(billingEndsAt, at(PLAN_PATH)) : null;
}
