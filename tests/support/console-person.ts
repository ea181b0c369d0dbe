import { runAction } from "../../src/actions/action.ts";
import { textInput } from "../../src/actions/field.ts";
import { findByIdOrName, linkUser, type UserLink } from "../../src/actions/people/actions.ts";
import { OPERATOR } from "../../src/actions/actor.ts";
import { consoleAddress } from "../../src/actions/console-address.ts";
import { send, type TestService, type WireAnswer } from "./service.ts";

type LinkWish = { name?: string; shopDomain?: string; isRecovery?: boolean; now?: Date };

/** A new link for a person, created as by the command; an unknown name creates a new person. */
export async function makeUserLink(
  service: TestService,
  { name, shopDomain: workspace, isRecovery = false, now = new Date() }: LinkWish = {},
): Promise<Omit<UserLink, "link"> & { link: string; secret: string }> {
  const { database } = service.installation;
  const origin = consoleAddress(null, new URL(service.address).port);
  const caller = { database, actor: OPERATOR, now, consoleOrigin: () => origin };
  const [known] = name === undefined ? [] : await findByIdOrName(caller, name);
  const person = known === undefined ? { name } : { person: known.user_id };
  const given = textInput({ ...person, workspace, recover: isRecovery ? "yes" : undefined });
  const { result } = await runAction(linkUser, caller, given);
  const link = result.link.reveal();
  return { ...result, link, secret: link.slice(link.indexOf("#") + 1) };
}

/** The id of a person; "" = nobody has that name. */
export async function userIdOf({ database }: TestService, name: string): Promise<string> {
  const { rows } = await database.query<{ user_id: string }>(
    "select user_id from console_user where name = $1",
    [name],
  );
  return rows[0]?.user_id ?? "";
}

/** How many links of a person were not used. */
export async function unusedLinks({ database }: TestService, name: string): Promise<number> {
  const { rows } = await database.query(
    "select from console_link join console_user using (user_id) where name = $1 and used_at is null",
    [name],
  );
  return rows.length;
}

/** Compressing pages takes longer than rendering many of them; compression has its own tests. */
const UNCOMPRESSED = { "accept-encoding": "identity" };

/** Fields by name, or in pairs when one repeats. */
export type FormFields = Record<string, string> | [string, string][];

/** Opens a page of the console with somebody's cookie, or signed out; follows no redirect. */
export function openPage(
  { address }: Pick<TestService, "address">,
  path: string,
  cookie = "",
): Promise<WireAnswer> {
  return send(address + path, { headers: { ...UNCOMPRESSED, cookie } });
}

/** Posts a form of the console as its own page would, unless headers say otherwise; follows no redirect. */
export function postForm(
  { address }: Pick<TestService, "address">,
  path: string,
  fields: FormFields,
  headers: Record<string, string> = {},
): Promise<WireAnswer> {
  const own = {
    ...UNCOMPRESSED,
    origin: address,
    "sec-fetch-site": "same-origin",
    "content-type": "application/x-www-form-urlencoded;charset=UTF-8",
  };
  const body = new URLSearchParams(fields).toString();
  return send(address + path, { method: "POST", headers: { ...own, ...headers }, body });
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
export function cookieOf({ headers }: Pick<WireAnswer, "headers">): string {
  const [pair = ""] = (headers.get("set-cookie") ?? "").split(";");
  return pair;
}
