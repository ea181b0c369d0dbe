import { readFileSync } from "node:fs";
import type { Document } from "../api/documents.ts";

/** Queries sent when a shop is connected, and about the records that webhooks name. */
export const CONNECT_DOCUMENTS = {
  connection: readDocument("connection"),
  subscription: readDocument("subscription"),
  webhookList: readDocument("webhook-list"),
  webhookCreate: readDocument("webhook-create"),
  returnOrders: readDocument("return-orders"),
} as const;

function readDocument(name: string): Document {
  return { name, text: readFileSync(new URL(`../documents/${name}.graphql`, import.meta.url), "utf8") };
}
