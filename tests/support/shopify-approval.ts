import { exchangeCode } from "../../src/sync/connectors/shopify/install/access.ts";
import type { Secrets } from "../../src/sync/connector.ts";
import { APP } from "./webhooks.ts";

/** The expiring tokens that a merchant's approval brings, at a simulated shop that has the test's app. */
export async function approvedTokens(simulator: { url: string }): Promise<Secrets> {
  const query = new URLSearchParams({
    client_id: APP.clientId,
    scope: "read_orders,read_all_orders,read_returns,read_products",
    redirect_uri: "https://returns.example/callback",
    state: "state",
  });
  const response = await fetch(`${simulator.url}/admin/oauth/authorize?${query.toString()}`, {
    redirect: "manual",
  });
  const code = new URL(response.headers.get("location") ?? "").searchParams.get("code") ?? "";
  return exchangeCode(simulator.url, APP, code, new Date());
}
