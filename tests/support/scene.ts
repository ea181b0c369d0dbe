import { after } from "node:test";
import type { Role } from "../../src/contract/role.ts";
import { newSecret } from "../../src/access/secret.ts";
import { cookieOf, makeUserLink, openPage, postForm, type FormFields } from "./console-person.ts";
import { post, toolCall, toolText } from "./mcp.ts";
import { createSession } from "./people.ts";
import { startTestService, type CalledAnswer, type CallOptions } from "./service.ts";
import type { TestService, WireAnswer } from "./service.ts";
import { createSmallStore } from "./small-store.ts";
import { createTenant, type Tenant, type TenantOptions } from "./tenants.ts";

let shared: Promise<TestService> | undefined;
after(async () => (await shared)?.stop());

/**
 * The one service of a process, with the usual options, started when first needed. The test files of a process share it: each
 * creates its own workspaces, and leaves what belongs to the installation unchanged.
 */
export const sharedService = (): Promise<TestService> => (shared ??= startTestService());

/** `location` is below the workspace; `done` is the sentence that the next page shows. */
export type SentForm = WireAnswer & { location: string; done: string | null };

/** A signed-in person at the pages of a workspace, of this server or of another on the same database. */
export type Member = {
  userId: string;
  cookie: string;
  /** The address of the workspace's pages for a browser: `withPage(context, { as: member }, (page) => page.goto(member.home))`. */
  home: string;
  /** Opens a page below /w/<shop_domain>; follows no redirect. */
  get: (path: string, address?: string) => Promise<WireAnswer>;
  /** Sends a form as the page would; follows no redirect. */
  post: (path: string, fields: FormFields, address?: string) => Promise<SentForm>;
  /** The page that a form leads to, which says once what was done. */
  follow: (sent: SentForm) => Promise<WireAnswer>;
};

type AuditRow = {
  action: string;
  detail: Record<string, unknown>;
  before: Record<string, unknown> | null;
};

export type Scene = Tenant & {
  service: TestService;
  /** Calls an endpoint with the workspace's token, and checks the answer against the contract. */
  call: (path: string, params?: CallOptions["params"], options?: CallOptions) => Promise<CalledAnswer>;
  /** Calls an MCP tool with the workspace's token. */
  tool: (name: string, values?: unknown) => Promise<{ text: string; isError: boolean }>;
  member: (role?: Role, name?: string) => Promise<Member>;
  /** What members did there, oldest first. */
  audit: () => Promise<AuditRow[]>;
};

/**
 * A workspace of the test's own with its token, on the shared service or another: `await scene()`, `await scene({ store: "small" })`
 * for the store of small-store.ts, `await scene({ on: service, readiness: "installing" })`.
 */
export async function scene(
  options: TenantOptions & { store?: "empty" | "small"; on?: TestService } = {},
): Promise<Scene> {
  const service = options.on ?? (await sharedService());
  const create = options.store === "small" ? createSmallStore : createTenant;
  const tenant = await create(service.database, options);
  const { token } = tenant;
  return {
    ...tenant,
    service,
    call: (path, params = {}, others = {}) => service.call(path, { token, params, ...others }),
    tool: async (name, values) => toolText(await post(service.address, toolCall(name, values), { token })),
    member: (role, name) => actAs(service, tenant, role, name),
    audit: () => auditOf(service, tenant),
  };
}

/** A member of a workspace, signed in without a form: an address has 30 sign-ins a minute. A known name is the same person. */
export async function actAs(
  service: TestService,
  { shopDomain, shopKey }: Pick<Tenant, "shopDomain" | "shopKey">,
  role: Role = "owner",
  name = `the ${role} of ${shopDomain}`,
): Promise<Member> {
  const { user_id: userId } = await makeUserLink(service, { name, shopDomain });
  const { text, hash: sessionHash } = newSecret();
  await createSession(service.database, userId, { sessionHash });
  await service.database.query("update workspace_member set role = $2 where shop_key = $1 and user_id = $3", [
    shopKey,
    role,
    userId,
  ]);
  return { userId, ...visitorOf(service, shopDomain, `returns=${text}`) };
}

/** The pages of a workspace with somebody's cookie. */
export function visitorOf(service: TestService, shopDomain: string, cookie: string): Omit<Member, "userId"> {
  const root = `/w/${shopDomain}`;
  return {
    cookie,
    home: `http://localhost:${new URL(service.address).port}${root}`,
    get: (path, address = service.address) => openPage({ address }, root + path, cookie),
    post: async (path, fields, address = service.address) => {
      const page = await postForm({ address }, root + path, fields, { cookie });
      const location = (page.headers.get("location") ?? "").replace(root, "");
      return { ...page, location, done: doneOf(page.headers) };
    },
    follow: (sent) => openPage(service, sent.headers.get("location") ?? "", `${cookie}; ${cookieOf(sent)}`),
  };
}

function doneOf(headers: Headers): string | null {
  const value = /returns-done=([^;]+)/u.exec(headers.get("set-cookie") ?? "")?.[1];
  return value === undefined ? null : Buffer.from(value, "base64url").toString();
}

/** What members did in a workspace, oldest first. */
export async function auditOf({ database }: TestService, { shopKey }: Pick<Tenant, "shopKey">) {
  const { rows } = await database.query<AuditRow>(
    "select action, detail, before from audit_event where shop_key = $1 and actor like 'user:%' order by happened_at",
    [shopKey],
  );
  return rows;
}
