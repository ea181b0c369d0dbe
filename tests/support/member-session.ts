import { newSecret } from "../../src/access/secret.ts";
import { makeUserLink, postForm } from "./console-person.ts";
import { createSession } from "./people.ts";
import type { TestService } from "./service.ts";
import type { Tenant } from "./tenants.ts";

export type SentForm = { status: number; location: string; text: string; done: string | null };

/** A member at the pages of a workspace, of one server or of another on the same database. */
export type MemberSession = {
  cookie: string;
  get(path: string, address?: string): Promise<{ status: number; text: string }>;
  /** Sends a form; `done` is the sentence that the next page shows. */
  post(path: string, fields: Record<string, string>): Promise<SentForm>;
};

/** A person who is signed in, and a member with that role. Not by a form: an address has 30 sign-ins a minute. */
export async function actAs(
  service: TestService,
  { shopDomain, shopKey }: Pick<Tenant, "shopDomain" | "shopKey">,
  role: "viewer" | "admin" | "owner" = "owner",
  name = `the ${role} of ${shopDomain}`,
): Promise<MemberSession> {
  const { user_id: userId } = await makeUserLink(service, { name, shopDomain });
  const { text: session, hash: sessionHash } = newSecret();
  await createSession(service.database, userId, { sessionHash });
  const cookie = `returns=${session}`;
  await service.database.query(
    `update workspace_member set role = $2
      where shop_key = $1 and user_id = $3`,
    [shopKey, role, userId],
  );
  const home = `/w/${shopDomain}`;
  return {
    cookie,
    get: async (path, address = service.address) => {
      const response = await fetch(`${address}${home}${path}`, { headers: { cookie }, redirect: "manual" });
      return { status: response.status, text: await response.text() };
    },
    post: async (path, fields) => {
      const response = await postForm(service, `${home}${path}`, fields, { cookie });
      return {
        status: response.status,
        location: (response.headers.get("location") ?? "").replace(home, ""),
        text: await response.text(),
        done: doneOf(response),
      };
    },
  };
}

function doneOf({ headers }: Response): string | null {
  const value = /returns-done=([^;]+)/u.exec(headers.get("set-cookie") ?? "")?.[1];
  return value === undefined ? null : Buffer.from(value, "base64url").toString();
}

/** What was recorded of a workspace, oldest first. */
export async function auditOf(
  { database }: TestService,
  { shopKey }: Pick<Tenant, "shopKey">,
): Promise<{ action: string; detail: unknown; before: unknown }[]> {
  const { rows } = await database.query<{ action: string; detail: unknown; before: unknown }>(
    "select action, detail, before from audit_event where shop_key = $1 and actor like 'user:%' order by happened_at",
    [shopKey],
  );
  return rows;
}
