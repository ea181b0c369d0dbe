import assert from "node:assert/strict";
import { test } from "node:test";
import { CostExceeded, type ShopifyClient } from "./client.ts";
import type { Document } from "./documents.ts";
import { openNodeReader } from "./nodes.ts";

test("each id gets its own node, also where requests are halved twice and side by side, in any order", async () => {
  const most = 2;
  const query = async (_: unknown, { ids }: { ids: readonly string[] }) => {
    await Promise.resolve();
    if (ids.length > most) throw new CostExceeded("too expensive");
    return { nodes: ids.map((id) => (id === "gone" ? null : { id })).toReversed() };
  };
  const ids = Array.from({ length: 40 }, (_, index) => (index === 7 ? "gone" : `id ${index}`));
  const nodes = await readerOf(query).read(ids);
  assert.deepEqual(
    nodes.map((node) => node?.id ?? "gone"),
    ids,
  );
});

test("an answer with nodes that were not asked for is refused: none of them counts as gone", async () => {
  const read = (found: string[]) =>
    readerOf(async () => ({ nodes: found.map((id) => ({ id })) })).read(["a", "b"]);
  for (const found of [["a", "c"], ["a"]])
    await assert.rejects(read(found), /one node for each id.*1 for 2/u);
});

function readerOf(query: (document: unknown, asked: { ids: readonly string[] }) => Promise<unknown>) {
  const client = { query } as object as ShopifyClient;
  return openNodeReader(client, {} as Document<{ nodes: ({ id: string } | null)[] }>, 12);
}
