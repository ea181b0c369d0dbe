import { SourceFailed } from "../../../connector.ts";
import type { ShopifyClient } from "./client.ts";
import { DOCUMENTS } from "./documents.ts";
import type { Document } from "./documents.ts";

/** Where a bulk operation is; `lost` = it has to be started again. */
export type OperationState =
  | { is: "running"; objects: number }
  | { is: "completed"; objects: number; url: string | null }
  | { is: "lost"; why: string };

/** Starts a bulk operation; null while the platform runs as many as it allows. */
export async function startOperation(client: ShopifyClient, document: Document): Promise<string | null> {
  const { bulkOperationRunQuery: started } = await client.query(DOCUMENTS.bulkRun, { query: document.text });
  const { bulkOperation: operation, userErrors: errors } = started;
  const isBusy = errors.some(({ code }) => code === "OPERATION_IN_PROGRESS" || code === "LIMIT_REACHED");
  if (isBusy) return null;
  if (errors.length === 0 && operation) return operation.id;
  const messages = errors.map(({ message }) => message).join("; ");
  throw new SourceFailed(`Shopify refused the bulk operation ${document.name}: ${messages}`);
}

export async function pollOperation(client: ShopifyClient, operationId: string): Promise<OperationState> {
  const { bulkOperation: operation } = await client.query(DOCUMENTS.bulkPoll, { id: operationId });
  if (!operation) return { is: "lost", why: "it is not known any more" };
  const { status, url = null, errorCode: code } = operation;
  const objects = Number(operation.objectCount);
  switch (status) {
    case "CREATED":
    case "RUNNING":
    case "CANCELING":
      return { is: "running", objects };
    case "COMPLETED":
      // Nothing matched: there is no file. Otherwise a file without address has expired.
      if (url === null && objects > 0) return { is: "lost", why: "its file is gone" };
      return { is: "completed", objects, url };
    default:
      return { is: "lost", why: `it ended as ${status}${code ? ` (${code})` : ""}` };
  }
}

/** Gives up an operation that does not come to its end. */
export async function cancelOperation(client: ShopifyClient, operationId: string): Promise<void> {
  await client.query(DOCUMENTS.bulkCancel, { id: operationId });
}
