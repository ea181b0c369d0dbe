import { readFileSync } from "node:fs";
import type { Document } from "./documents.ts";

/** What is asked when a shop is connected, and about what webhooks told. */
export const CONNECT_DOCUMENTS = {
  connection: readDocument("connection"),
  subscription: readDocument("subscription"),
  webhookList: readDocument("webhook-list"),
  webhookCreate: readDocument("webhook-create"),
  returnOrders: readDocument("return-orders"),
} as const;

function readDocument(name: string): Document {
  return { name, text: readFileSync(new URL(`documents/${name}.graphql`, import.meta.url), "utf8") };
}
