import { mayDo, readSources } from "../../actions/right.ts";
import type { MemberAdmission } from "../../access/admit-member.ts";
import { listSources } from "../../actions/sources/connect.ts";
import { html, type Html } from "../../lib/html.ts";
import { addressOf } from "../page-call.ts";
import { IMPORTS_PATH, SOURCES_PATH, sourcePath } from "../../actions/sources/paths.ts";

/** A member's options for a workspace without figures; without the right, who can act. */
export function waysOn(member: MemberAdmission): Html {
  const { readiness, role, workspace } = member;
  const href = (path: string): string => addressOf(workspace.shopDomain, path);
  if (!mayDo(role, readSources)) {
    return html`<p>An admin or an owner of this workspace can fix this.</p>`;
  }
  const store = workspace.sources.find(({ kind, source }) => kind === "store" && isConnectable(source));
  const source = store?.source ?? "shopify";
  if (readiness === "backfilling") {
    return html`<p><a href="${href(sourcePath(source, "/progress"))}">View progress</a></p>`;
  }
  if (readiness === "reconnecting") {
    return html`<p><a href="${href(sourcePath(source, "/connect"))}">Connect it again</a></p>`;
  }
  const isUnderWay = store !== undefined && store.status !== "disconnected";
  return html`<ul>
    ${isUnderWay && html`<li><a href="${href(sourcePath(source, "/progress"))}">View progress</a></li>`}
    <li><a href="${href(sourcePath("shopify", "/connect"))}">Connect Shopify</a></li>
    <li><a href="${href(IMPORTS_PATH)}">Upload CSV files</a></li>
    <li><a href="${href(SOURCES_PATH)}">All sources</a></li>
  </ul>`;
}

/** The link that repairs a source which is out of date, for those who may. */
export function repairLink(
  source: string,
  status: string,
  { role, workspace }: MemberAdmission,
): Html | null {
  if (!mayDo(role, readSources)) return null;
  const href = (path: string): string => addressOf(workspace.shopDomain, path);
  if (!isConnectable(source)) return html`<a href="${href(IMPORTS_PATH)}">Upload newer files</a>`;
  return status === "disconnected"
    ? html`<a href="${href(sourcePath(source, "/connect"))}">Connect it again</a>`
    : html`<a href="${href(sourcePath(source))}">See why</a>`;
}

function isConnectable(name: string): boolean {
  return listSources().some(({ source }) => source === name);
}
