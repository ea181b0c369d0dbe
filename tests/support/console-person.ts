import { OPERATOR } from "../../src/control/actor.ts";
import type { TestService } from "./service.ts";
import { consoleAddress } from "../../src/control/console-address.ts";
import { linkUser } from "../../src/control/user.ts";
import type { UserLink } from "../../src/control/user.ts";
import { requireWorkspace } from "../../src/control/workspace.ts";

type LinkWish = { name?: string; shopDomain?: string; isRecovery?: boolean; now?: Date };

/** A new link of a person, made as the command makes it. */
export async function makeUserLink(
  service: TestService,
  { name, shopDomain, isRecovery = false, now = new Date() }: LinkWish = {},
): Promise<UserLink & { secret: string }> {
  const { database } = service.installation;
  const workspace = shopDomain === undefined ? null : await requireWorkspace(database, shopDomain);
  const address = consoleAddress(null, new URL(service.address).port);
  const link = await linkUser(database, OPERATOR, { name, workspace, isRecovery, address, now });
  return { ...link, secret: link.link.slice(link.link.indexOf("#") + 1) };
}

/** Posts a form of the console as its own page would, unless headers say otherwise; follows no redirect. */
export async function postForm(
  service: TestService,
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${service.address}${path}`, {
    method: "POST",
    redirect: "manual",
    headers: { origin: service.address, "sec-fetch-site": "same-origin", ...headers },
    body: new URLSearchParams(fields),
  });
}

/** Signs a person in by a new link; returns the cookie as a browser sends it. */
export async function signInAs(
  service: TestService,
  person: { name?: string; shopDomain?: string } = {},
): Promise<string> {
  const { secret } = await makeUserLink(service, person);
  return cookieOf(await postForm(service, "/enter", { secret }));
}

/** The session cookie that an answer sets, as a browser sends it back. */
export function cookieOf(response: Response): string {
  const [pair = ""] = (response.headers.get("set-cookie") ?? "").split(";");
  return pair;
}
