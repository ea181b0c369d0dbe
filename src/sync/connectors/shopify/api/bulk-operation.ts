import { SourceFailed } from "../../../connector.ts";
import type { ShopifyClient } from "./client.ts";
import { DOCUMENTS } from "./documents.ts";
import type { Document } from "./documents.ts";
import { listAt, objectAt, objectOrNullAt, textAt, textOrNullAt, wholeAt } from "../../kit/json.ts";

/** Where a bulk operation is; `lost` = it has to be started again. */
export type OperationState =
  | { is: "running"; objects: number }
  | { is: "completed"; objects: number; url: string | null }
  | { is: "lost"; why: string };

/** Starts a bulk operation; null while the platform runs as many as it allows. */
export async function startOperation(client: ShopifyClient, document: Document): Promise<string | null> {
  const data = await client.query(DOCUMENTS.bulkRun, { query: document.text });
  const payload = objectAt(data, "bulkOperationRunQuery", "Mutation");
  const errors = listAt(payload, "userErrors", "BulkOperationRunQueryPayload");
  const isBusy = errors.some(({ code }) => code === "OPERATION_IN_PROGRESS" || code === "LIMIT_REACHED");
  if (isBusy) return null;
  if (errors.length > 0) {
    const messages = errors.map((error) => textAt(error, "message", "BulkOperationUserError")).join("; ");
    throw new SourceFailed(`Shopify refused the bulk operation ${document.name}: ${messages}`);
  }
  return textAt(objectAt(payload, "bulkOperation", "BulkOperationRunQueryPayload"), "id", "BulkOperation");
}

export async function pollOperation(client: ShopifyClient, operationId: string): Promise<OperationState> {
  const data = await client.query(DOCUMENTS.bulkPoll, { id: operationId });
  const operation = objectOrNullAt(data, "bulkOperation", "QueryRoot");
  if (operation === null) return { is: "lost", why: "it is not known any more" };
  const status = textAt(operation, "status", "BulkOperation");
  const objects = wholeAt(operation, "objectCount", "BulkOperation");
  const url = textOrNullAt(operation, "url", "BulkOperation");
  switch (status) {
    case "CREATED":
    case "RUNNING":
    case "CANCELING":
      return { is: "running", objects };
    case "COMPLETED":
      // Nothing matched: there is no file. Otherwise a file without address has expired.
      if (url === null && objects > 0) return { is: "lost", why: "its file is gone" };
      return { is: "completed", objects, url };
    default: {
      const code = textOrNullAt(operation, "errorCode", "BulkOperation");
      return { is: "lost", why: `it ended as ${status}${code === null ? "" : ` (${code})`}` };
    }
  }
}

/** Gives up an operation that does not come to its end. */
export async function cancelOperation(client: ShopifyClient, operationId: string): Promise<void> {
  await client.query(DOCUMENTS.bulkCancel, { id: operationId });
}
