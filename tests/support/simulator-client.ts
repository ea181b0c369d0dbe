import { setTimeout as pause } from "node:timers/promises";
import type { ShopifySimulator } from "../../tools/simulators/shopify/start.ts";

export interface GraphqlBody<Data> {
  data?: Data;
  errors?: { message: string; extensions?: { code?: string } }[];
  extensions?: {
    cost: {
      requestedQueryCost: number;
      actualQueryCost: number | null;
      throttleStatus: { maximumAvailable: number; currentlyAvailable: number; restoreRate: number };
    };
  };
}

export interface BulkState {
  id: string;
  status: string;
  errorCode: string | null;
  objectCount: string;
  fileSize: string | null;
  url: string | null;
  partialDataUrl: string | null;
}

type Request = { simulator: ShopifySimulator; token?: string; variables?: Record<string, unknown> };

export async function ask<Data>(query: string, request: Request): Promise<GraphqlBody<Data>> {
  const response = await post(query, request);
  return (await response.json()) as GraphqlBody<Data>;
}

/** The data of a query that has to succeed. */
export async function read<Data>(query: string, request: Request): Promise<Data> {
  const { data, errors } = await ask<Data>(query, request);
  if (data === undefined || errors !== undefined) throw new Error(JSON.stringify(errors));
  return data;
}

export function post(query: string, { simulator, token, variables }: Request): Promise<Response> {
  return fetch(`${simulator.url}/admin/api/2026-10/graphql.json`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-shopify-access-token": token ?? simulator.token },
    body: JSON.stringify({ query, variables }),
  });
}

export async function startBulk(query: string, simulator: ShopifySimulator, token?: string) {
  const { bulkOperationRunQuery } = await read<{
    bulkOperationRunQuery: {
      bulkOperation: { id: string; status: string } | null;
      userErrors: { message: string; code: string }[];
    };
  }>(
    `mutation Run($query: String!) {
      bulkOperationRunQuery(query: $query) { bulkOperation { id status } userErrors { field message code } }
    }`,
    { simulator, variables: { query }, ...(token !== undefined && { token }) },
  );
  return bulkOperationRunQuery;
}

export async function bulkState(id: string, simulator: ShopifySimulator): Promise<BulkState> {
  const { bulkOperation } = await read<{ bulkOperation: BulkState }>(
    `query Poll($id: ID!) {
      bulkOperation(id: $id) { id status errorCode objectCount fileSize url partialDataUrl }
    }`,
    { simulator, variables: { id } },
  );
  return bulkOperation;
}

/** Runs a bulk query to its end. */
export async function bulk(query: string, simulator: ShopifySimulator, token?: string): Promise<BulkState> {
  const { bulkOperation, userErrors } = await startBulk(query, simulator, token);
  if (bulkOperation === null) throw new Error(JSON.stringify(userErrors));
  for (;;) {
    const state = await bulkState(bulkOperation.id, simulator);
    if (state.status !== "CREATED" && state.status !== "RUNNING") return state;
    await pause(10);
  }
}

export async function rowsOf<Row>(url: string | null): Promise<Row[]> {
  if (url === null) return [];
  const text = await (await fetch(url)).text();
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Row);
}
