import type { OrderDocument } from "../../src/metrics/order.ts";
import { findConnection, putConnection } from "../../src/store/queries/data-source.ts";
import { lockWorkspace } from "../../src/store/queries/import-stage.ts";
import { planForRun } from "../../src/store/query.ts";
import { applyStage } from "../../src/sync/apply.ts";
import { replaceDocument } from "../../src/sync/document-merge.ts";
import { readStored, ROW_DEFAULTS } from "../../src/sync/stored-document.ts";
import type { Connector, SyncContext, SyncOutcome } from "../../src/sync/connector.ts";
import { insertRecords, openRecordLabels } from "../../src/store/queries/label-record.ts";
import { RETRY_POLICY } from "../../src/sync/connectors/shared/http.ts";
import type { SourceLabel } from "../../src/sync/connectors/shared/label-run.ts";
import type { ImportWorkspace } from "./import-workspace.ts";
import { memoryCredentials } from "./secret.ts";

export const NOW = "2026-06-01T06:00:00.000Z";

/** Retries as in production, but with short waits. */
export const QUICK = { retryPolicy: { ...RETRY_POLICY, firstDelayMs: 1, timeoutMs: 400 } };

/** The same, with small pages. */
export const SMALL_PAGES = { ...QUICK, pageSize: 10 };

/** A simulated source: where it is, and the key it takes. */
export type LabelPlace = { url: string; apiKey: string };

/** Runs a connector once, as the worker does. */
export async function syncLabels(
  shop: Pick<ImportWorkspace, "database">,
  shopKey: number,
  connector: Connector,
  place: LabelPlace,
  changes: Partial<SyncContext> = {},
): Promise<SyncOutcome> {
  const connection = await findConnection(shop.database, shopKey, connector.source);
  return connector.sync({
    database: shop.database,
    shopKey,
    cursor: connection?.cursor ?? null,
    currencyCode: "EUR",
    kind: "incremental",
    settings: { url: place.url },
    credentials: memoryCredentials({ apiKey: place.apiKey }),
    signal: new AbortController().signal,
    now: () => new Date(NOW),
    progress: () => {},
    ...changes,
  });
}

/** Connects a label source, as the operator does. */
export async function connectLabels(
  shop: Pick<ImportWorkspace, "database">,
  shopKey: number,
  source: string,
): Promise<void> {
  const connection = { shopKey, source, kind: "label_cost", settings: {} } as const;
  await putConnection(shop.database, { ...connection, sealedCredentials: Buffer.alloc(0) });
}

/** Stores orders as a store source does; resolves to how many have changed. */
export async function putOrders(
  shop: Pick<ImportWorkspace, "database">,
  shopKey: number,
  documents: readonly OrderDocument[],
): Promise<number> {
  return shop.database.transaction(async (connection) => {
    await lockWorkspace(connection, shopKey);
    await planForRun(connection, "large");
    const stored = await connection.rows<{ order_id: string; document: unknown }>(
      {
        name: "test_order_documents",
        text: "select order_id, document from order_document where shop_key = $1",
      },
      [shopKey],
    );
    const storedById = new Map(stored.map((row) => [row.order_id, readStored(row.order_id, row.document)]));
    const portions = [
      documents.map((part) => () => {
        const { orderId } = part;
        return { orderId, stored: storedById.get(orderId) ?? null, part };
      }),
    ];
    const { changes } = await applyStage({
      hasCatalogue: false,
      connection,
      shopKey,
      currencyCode: "EUR",
      labels: null,
      orders: { merge: replaceDocument, next: async () => portions.shift() ?? [] },
      onProgress: () => {},
    });
    return changes;
  });
}

/** Stores labels with only the given members, by default 5.00 EUR charged on 2026-01-10. */
export async function putSourceLabels(
  shop: Pick<ImportWorkspace, "database">,
  shopKey: number,
  labels: readonly (Partial<SourceLabel> & Pick<SourceLabel, "labelId">)[],
): Promise<void> {
  const source = "labels";
  const blank = { orderId: null, returnId: null, orderName: null, trackingNumber: null, voidedAt: null };
  const charge = { chargedAt: "2026-01-10T00:00:00.000Z", amountMinor: 500, currencyCode: "EUR" };
  await shop.database.transaction(async (connection) => {
    await planForRun(connection, "large");
    const records = labels.map((label) => ({
      recordId: label.labelId,
      labels: [{ ...blank, ...charge, ...label }],
    }));
    await insertRecords(connection, shopKey, source, records);
    const run = { connection, shopKey, currencyCode: "EUR", orders: null };
    const next = await openRecordLabels(connection, shopKey, source);
    await applyStage({
      hasCatalogue: false,
      ...run,
      labels: { source, gone: async () => [], next },
      onProgress: () => {},
    });
  });
}

/** An order of one line with a closed return, changed by the given members. */
export function orderWithReturn(
  number: number,
  told: Partial<OrderDocument> & { units?: number; orderedAt?: string } = {},
): OrderDocument {
  const { units = 1, orderedAt = "2026-01-05T10:00:00.000Z", ...rest } = told;
  return {
    orderId: orderGid(number),
    lines: [{ ...ROW_DEFAULTS.lines, lineId: "l1", orderedAt, sku: `SKU-${number % 7}`, units: 5 }],
    returns: [
      {
        ...ROW_DEFAULTS.returns,
        returnId: returnGid(number),
        lineId: "l1",
        units,
        processedUnits: units,
        requestedAt: orderedAt,
        closedAt: "2026-01-20T10:00:00.000Z",
      },
    ],
    refunds: [],
    ...rest,
  };
}

export const orderGid = (number: number): string => `gid://shopify/Order/${number}`;
export const returnGid = (number: number): string => `gid://shopify/Return/${number}`;

/** A tracking number of the return of an order. */
export function tracking(number: number, trackingNumber: string): Pick<OrderDocument, "trackings"> {
  return { trackings: [{ returnId: returnGid(number), trackingNumber }] };
}

/** Order, label, minor units and lag of every part of a label. */
export async function readShares(shop: Pick<ImportWorkspace, "rows">, shopKey: number): Promise<string[]> {
  const rows = await shop.rows<{ share: string }>(
    `select concat_ws(' ', regexp_replace(order_id, '.*/', ''), label_id, label_minor, 'lag', lag_days) as share
       from label_share where shop_key = $1 order by share`,
    [shopKey],
  );
  return rows.map(({ share }) => share);
}
