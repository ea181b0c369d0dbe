import { readList, runAction } from "../actions/action.ts";
import { textInput } from "../actions/field.ts";
import { linkUser } from "../actions/people/actions.ts";
import { curlLine, shellQuoted } from "../contract/written-request.ts";
import { demoTokenFile, hasDemoToken } from "../demo/demo-workspace.ts";
import { consoleAddress } from "../actions/console-address.ts";
import type { ConsoleAddress } from "../actions/console-address.ts";
import { OPERATOR } from "../actions/actor.ts";
import { workspaceList } from "../actions/workspace/workspace.ts";
import { formatFields } from "../lib/table.ts";
import type { CreatedDemo } from "./demo.ts";
import type { Session } from "./session.ts";
import { VERSION } from "../lib/version.ts";

/** Prints the service's address and first requests on standard output. */
export async function printWelcome(
  session: Session,
  address: string,
  demo: CreatedDemo | null,
): Promise<void> {
  const { database, installation, terminal } = session;
  const workspaces = await readList(workspaceList, { database, actor: OPERATOR, now: new Date() });
  const keptFile = demoTokenFile(installation);
  const isKept = demo !== null || (await hasDemoToken(database, keptFile, new Date()));
  const tokenFile = isKept ? keptFile : null;
  const { hasConsole, publicUrl } = session.config;
  const place = hasConsole ? consoleAddress(publicUrl, new URL(address).port) : null;
  const link = await makeLink(session, place);
  const requests = demo?.requests.map((request) => curlLine(address, request, demo.token)) ?? [];
  const document = {
    address,
    docs: `${address}/docs`,
    console: place?.origin ?? null,
    console_link: link,
    version: VERSION,
    database: installation.embedded === null ? "external" : "embedded",
    data_folder: installation.dataFolder,
    workspaces: workspaces.map((workspace) => workspace.shop_domain),
    demo_token_file: tokenFile,
    demo_token: demo?.token ?? null,
    requests,
  };
  const facts = formatFields({
    API: `${address}/api/v1/`,
    Guides: `${address}/docs`,
    ...(place === null ? {} : { Console: place.origin }),
    Database: installation.embedded === null ? "the one of DATABASE_URL" : "embedded PostgreSQL",
    "Data folder": installation.dataFolder,
    Workspaces: workspaces.length,
    ...(tokenFile === null ? {} : { "Demo token": `in ${tokenFile}` }),
  });
  const hint = hintText({
    address,
    demo,
    requests,
    tokenFile,
    hasWorkspace: workspaces.length > 0,
    hasLink: link !== null,
  });
  const text = `${linkText(link)}\n${indent(facts)}${hint}`;
  terminal.print(document, `\nReturns Analytics API ${VERSION}\n${text}\n`);
}

/**
 * Whoever starts a service with an embedded database can read all of it. The output of one with DATABASE_URL is often
 * collected, and its people have links of their own: `user link`.
 */
async function makeLink(
  { installation, database }: Session,
  address: ConsoleAddress | null,
): Promise<string | null> {
  if (address === null || installation.embedded === null) return null;
  const caller = { database, actor: OPERATOR, now: new Date(), consoleOrigin: () => address.origin };
  const { result } = await runAction(linkUser, caller, textInput({ unseen: "yes" }));
  return result.link.reveal();
}

function linkText(link: string | null): string {
  if (link === null) return "";
  return `\nSee your returns in a browser: open this link. It works once, for 10 minutes; "./returns user link" prints another.\n\n  ${link}\n`;
}

type HintFacts = {
  address: string;
  demo: CreatedDemo | null;
  requests: readonly string[];
  tokenFile: string | null;
  hasWorkspace: boolean;
  hasLink: boolean;
};

function hintText({ address, demo, requests, tokenFile, hasWorkspace, hasLink }: HintFacts): string {
  if (demo !== null) {
    return (
      `\nFor programs, the token of the demo workspace, which is kept in ${demo.tokenFile}:\n\n  ${demo.token}\n\n` +
      `Three requests to paste. ${demo.story}:\n\n${requests.map((request) => `${request}\n`).join("")}`
    );
  }
  if (tokenFile !== null) {
    const request = "/api/v1/leaderboards/return-rate?period=month&limit=3";
    return `\nTry:\n\n${curlLine(address, request, `$(cat ${shellQuoted(tokenFile)})`)}\n`;
  }
  if (hasWorkspace) return "";
  const first = hasLink
    ? "the link leads to a page that creates one"
    : '"./returns workspace create" creates one';
  return `\nThere is no workspace yet: ${first}, and "./returns demo" creates one to try.\n`;
}

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gmu, "  ");
}
