import assert from "node:assert/strict";
import { test } from "node:test";
import { CostExceeded, type ShopifyClient } from "./client.ts";
import type { Document } from "./documents.ts";
import { openNodeReader } from "./nodes.ts";

test("nodes stand in the order of their ids, also where requests are halved twice and side by side", async () => {
  const most = 2;
  const query = async (_: unknown, { ids }: { ids: readonly string[] }) => {
    await Promise.resolve();
    if (ids.length > most) throw new CostExceeded("too expensive");
    return { nodes: ids.map((id) => ({ id })) };
  };
  const client = { query } as object as ShopifyClient;
  const reader = openNodeReader(client, {} as Document<{ nodes: { id: string }[] }>, 12);
  const ids = Array.from({ length: 40 }, (_, index) => `id ${index}`);
  const nodes = (await reader.read(ids)) as { id: string }[];
  assert.deepEqual(
    nodes.map(({ id }) => id),
    ids,
  );
});
