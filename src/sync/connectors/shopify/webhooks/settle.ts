import { addPending } from "../../../../store/queries/sync-record.ts";
import { SourceFailed } from "../../../connector.ts";
import { drainPending } from "../../shared/store-run.ts";
import type { ShopifyClient } from "../api/client.ts";
import { DOCUMENTS } from "../api/documents.ts";
import { allPages, openNodeReader } from "../api/nodes.ts";
import type { ShopifyRun } from "../settings.ts";
import { RETURN } from "./topics.ts";

/** As many nodes as one request may name. */
const MOST_NODES = 250;

/**
 * Asks the platform for what webhook payloads leave out: the orders of changed returns, which are fetched again. A deleted return
 * has changed its order, which the next listing of changed orders finds.
 */
export async function settleWebhooks(run: ShopifyRun): Promise<void> {
  const { database, shopKey, source, client } = run;
  const returns = openNodeReader(client, DOCUMENTS.returnOrders, MOST_NODES);
  await drainPending(
    run,
    { kind: RETURN, stage: "changed returns" },
    () => MOST_NODES,
    async (returnIds) => {
      const nodes = await returns.read(returnIds);
      const orderIds = nodes.flatMap((node) => (node === null ? [] : [node.order.id]));
      await addPending(database, shopKey, source, "order", orderIds);
      return [];
    },
  );
}

type Subscription = { topic: string; includeFields: readonly string[] };

const ID = ["id", "admin_graphql_api_id"];
const RETURN_FIELDS = ["id", "admin_graphql_api_id", "order"];

/**
 * A shop's webhook subscriptions, with only the fields that identify the record: orders arrive without the customer. The privacy
 * topics cannot be subscribed to here: they belong into the app's own configuration.
 */
const SUBSCRIPTIONS: readonly Subscription[] = [
  ...["APPROVE", "CANCEL", "CLOSE", "DECLINE", "PROCESS", "REOPEN", "REQUEST"].map((event) => ({
    topic: `RETURNS_${event}`,
    includeFields: RETURN_FIELDS,
  })),
  // Its payload has a special format that contains the changes.
  { topic: "RETURNS_UPDATE", includeFields: [] },
  { topic: "REFUNDS_CREATE", includeFields: ["id", "order_id"] },
  { topic: "ORDERS_UPDATED", includeFields: ID },
  { topic: "ORDERS_CANCELLED", includeFields: ID },
  { topic: "ORDERS_DELETE", includeFields: [] },
  { topic: "PRODUCTS_UPDATE", includeFields: ID },
  { topic: "PRODUCTS_DELETE", includeFields: [] },
  { topic: "BULK_OPERATIONS_FINISH", includeFields: [] },
  { topic: "APP_UNINSTALLED", includeFields: [] },
  { topic: "APP_SUBSCRIPTIONS_UPDATE", includeFields: [] },
];

/**
 * Subscribes `uri` to all missing topics of the shop; idempotent. Returns the number of topics. Throws `SourceFailed` with the
 * platform's reason, or as the client.
 */
export async function registerWebhooks(client: ShopifyClient, uri: string): Promise<number> {
  const registered = await listTopics(client, uri);
  for (const { topic, includeFields } of SUBSCRIPTIONS) {
    if (registered.has(topic)) continue;
    const fields = includeFields.length === 0 ? {} : { includeFields };
    const subscription = { uri, format: "JSON", ...fields };
    const answer = await client.query(DOCUMENTS.webhookCreate, { topic, subscription });
    const [problem] = answer.webhookSubscriptionCreate.userErrors;
    if (problem !== undefined) {
      throw new SourceFailed(`Shopify does not send ${topic} to ${uri}: ${problem.message}.`);
    }
  }
  return SUBSCRIPTIONS.length;
}

async function listTopics(client: ShopifyClient, uri: string): Promise<ReadonlySet<string>> {
  const pageAfter = async (after: string | null) =>
    (await client.query(DOCUMENTS.webhookList, { after })).page;
  const subscriptions = await allPages(await pageAfter(null), pageAfter);
  return new Set(subscriptions.filter((one) => one.uri === uri).map(({ topic }) => topic));
}
