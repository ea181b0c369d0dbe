import type { TestService } from "./service.ts";
import type { Tenant } from "./tenants.ts";

/** Somebody who reads pages of a workspace. */
export type PageReader = { tenant: Pick<Tenant, "shopDomain">; cookie: string };

/** Opens a page below /w/<shop_domain>, as a browser does that is signed in; follows no redirect. */
export async function openPage(
  service: TestService,
  path: string,
  { tenant, cookie }: PageReader,
): Promise<{ status: number; text: string }> {
  const response = await fetch(`${service.address}/w/${tenant.shopDomain}${path}`, {
    redirect: "manual",
    // Compressing pages takes longer than rendering many of them; compression has its own tests.
    headers: { cookie, "accept-encoding": "identity" },
  });
  return { status: response.status, text: await response.text() };
}
