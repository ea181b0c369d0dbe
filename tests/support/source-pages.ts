import assert from "node:assert/strict";
import { visitorOf } from "./scene.ts";
import { postForm, signInAs } from "./console-person.ts";
import { unescaped } from "./page-figures.ts";
import type { TestService } from "./service.ts";
import { createTenant, type Tenant } from "./tenants.ts";
import { connectShop, rowsOf } from "./webhooks.ts";

export const SOURCES = "/settings/sources";

export type OwnedShop = Awaited<ReturnType<typeof newShop>>;

/** A workspace with an owner who is signed in. */
export async function newShop(
  service: TestService,
  options: { currencyCode?: string; readiness?: string } = {},
) {
  const tenant = await createTenant(service.database, options);
  const { shopDomain } = tenant;
  const cookie = await signInAs(service, { name: `Owner of ${shopDomain}`, shopDomain });
  return {
    tenant,
    page: (path: string) => visitorOf(service, shopDomain, cookie).get(path),
    post: (path: string, fields: Record<string, string>) =>
      postForm(service, `/w/${shopDomain}${path}`, fields, { cookie }),
    /** The words of the page that an action leads to. */
    follow: async (response: Response): Promise<string> => {
      assert.equal(response.status, 303, await response.text());
      const [pair = ""] = (response.headers.get("set-cookie") ?? "").split(";");
      const next = await fetch(new URL(response.headers.get("location") ?? "", service.address), {
        headers: { cookie: `${cookie}; ${pair}` },
      });
      return wordsOf(await next.text());
    },
  };
}

/** What a page says, without its markup. */
export function wordsOf(text: string): string {
  return unescaped(text.replaceAll(/<[^>]+>/gu, " ")).replaceAll(/\s+/gu, " ");
}

/** Puts a connection to a shop into a state that a worker leaves behind. */
export async function putConnected(service: TestService, { shopKey }: Tenant, change: string): Promise<void> {
  await connectShop(service, shopKey, `shop-${shopKey}.myshopify.com`);
  await service.database.query(
    `update data_source set ${change} where shop_key = $1 and source = 'shopify'`,
    [shopKey],
  );
}

type AuditRow = {
  action: string;
  detail: Record<string, unknown>;
  before: Record<string, unknown> | null;
};

/** What was done since the workspace has its owner. */
export async function auditOf(service: TestService, { shopKey }: Tenant): Promise<AuditRow[]> {
  const columns = "happened_at, action, detail, before";
  const rows = await rowsOf<AuditRow>(service, "audit_event", shopKey, columns);
  return rows.filter(({ action }) => action !== "member.set");
}
