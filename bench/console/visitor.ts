import { runAction } from "../../src/actions/action.ts";
import { textInput } from "../../src/actions/field.ts";
import { linkUser } from "../../src/actions/people/actions.ts";
import { OPERATOR } from "../../src/control/actor.ts";
import { consoleAddress } from "../../src/control/console-address.ts";
import type { BenchContext } from "../context.ts";
import type { LoadedStore } from "../stores/load-store.ts";

/** A person who is signed in to the console of one server, at the pages of one workspace. */
export type Visitor = { address: string; pages: string; cookie: string; token: string };

/** Signs an owner of the store in, by a link of their own. */
export async function signIn(
  { installation: { database } }: BenchContext,
  { workspaces: [{ shopDomain, token }] }: LoadedStore,
  address: string,
): Promise<Visitor> {
  const { origin } = consoleAddress(null, new URL(address).port);
  const caller = { database, actor: OPERATOR, now: new Date(), consoleOrigin: () => origin };
  const { result } = await runAction(linkUser, caller, textInput({ workspace: shopDomain }));
  const response = await fetch(`${address}/enter`, {
    method: "POST",
    redirect: "manual",
    headers: { origin: address, "sec-fetch-site": "same-origin" },
    body: new URLSearchParams({ secret: new URL(result.link.reveal()).hash.slice(1) }),
  });
  const [cookie = ""] = (response.headers.get("set-cookie") ?? "").split(";", 1);
  if (cookie === "") throw new Error(`signing in was answered ${response.status}`);
  return { address, pages: `${address}/w/${shopDomain}`, cookie, token };
}

/** Asks for a page as a browser does, and throws unless it is one. */
export async function openPage({ pages, cookie }: Visitor, path: string): Promise<string> {
  const response = await fetch(pages + path, { redirect: "manual", headers: { cookie } });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`the page ${path} was answered ${response.status}`);
  return text;
}

/** The requests to the API that a page lists: path and query. */
export function requestsOf(page: string): string[] {
  return [...page.matchAll(/data-path="([^"]*)"/gu)].map(([, path = ""]) => path.replaceAll("&amp;", "&"));
}

/** Asks the API for what a page shows: the first request settles the months of the rest, which are asked together. */
export async function askRequests({ address, token }: Visitor, paths: readonly string[]): Promise<void> {
  const ask = async (path: string): Promise<void> => {
    const response = await fetch(address + path, { headers: { authorization: `Bearer ${token}` } });
    await response.text();
    if (response.status !== 200) throw new Error(`${path} was answered ${response.status}`);
  };
  const [first, ...others] = paths;
  if (first !== undefined) await ask(first);
  await Promise.all(others.map(ask));
}
