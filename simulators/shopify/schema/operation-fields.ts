import type { BulkOperation } from "../bulk/operations.ts";
import type { Subscription } from "../webhooks.ts";
import { gid, legacyId } from "../world/ids.ts";
import { isoTime, isoTimeOrNull, typeFields } from "./resolver.ts";
import type { ResolversByType } from "./resolver.ts";

export const operationFields: ResolversByType = {
  BulkOperation: typeFields<BulkOperation>({
    id: ({ id }) => id,
    status: ({ status }) => status,
    type: () => "QUERY",
    errorCode: ({ errorCode }) => errorCode,
    createdAt: ({ createdAt }) => isoTime(createdAt),
    completedAt: ({ completedAt }) => isoTimeOrNull(completedAt),
    objectCount: ({ objectCount }) => String(objectCount),
    rootObjectCount: ({ rootObjectCount }) => String(rootObjectCount),
    fileSize: ({ fileSize }) => (fileSize === null ? null : String(fileSize)),
    url: ({ url }) => url,
    partialDataUrl: ({ partialDataUrl }) => partialDataUrl,
    query: ({ query }) => query,
  }),
  WebhookSubscription: typeFields<Subscription>({
    id: ({ number }) => gid("WebhookSubscription", number),
    legacyResourceId: ({ number }) => legacyId("WebhookSubscription", number),
    topic: ({ topic }) => topic,
    uri: ({ uri }) => uri,
    callbackUrl: ({ uri }) => uri,
    endpoint: ({ uri }) => ({ typeName: "WebhookHttpEndpoint", uri }),
    format: () => "JSON",
    filter: () => null,
    name: () => null,
    includeFields: () => [],
    metafieldNamespaces: () => [],
    apiVersion: () => ({ typeName: "ApiVersion" }),
    createdAt: ({ createdAt }) => isoTime(createdAt),
    updatedAt: ({ createdAt }) => isoTime(createdAt),
  }),
  WebhookHttpEndpoint: typeFields<{ uri: string }>({ callbackUrl: ({ uri }) => uri }),
};
