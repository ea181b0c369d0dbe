import { randomBytes } from "node:crypto";
import { addNode, joinNodes, listServers } from "./citus.ts";
import type { TestDatabase } from "./database.ts";
import { execute, urlOfDatabase } from "./server.ts";

/** A database on the servers of a cluster, with the coordinator's address first; `joinLast` adds the node that was left out. */
export type ClusterDatabase = TestDatabase & { urls: string[]; joinLast(): Promise<void> };

/** An empty database in a cluster of its own; only with RETURNS_TEST_CITUS=1. */
export async function createClusterDatabase({ hasLast = true } = {}): Promise<ClusterDatabase> {
  const servers = await listServers(process.env["RETURNS_TEST_DATABASE_URL"] ?? "");
  const name = `test_cluster_${randomBytes(6).toString("hex")}`;
  for (const server of servers) await execute(server, `create database ${name}`);
  const urls = servers.map((server) => urlOfDatabase(server, name));
  await joinNodes(hasLast ? urls : urls.slice(0, -1));
  return {
    url: urls[0] ?? "",
    urls,
    joinLast: async () => {
      const last = urls.at(-1) ?? "";
      await execute(last, "create extension citus");
      await addNode(urls[0] ?? "", last);
    },
    drop: async () => {
      for (const server of servers) await execute(server, `drop database if exists ${name} with (force)`);
    },
  };
}

/** The addresses of the same database on the nodes of a cluster. */
export async function nodesOf(databaseUrl: string): Promise<string[]> {
  const servers = await listServers(databaseUrl);
  return servers.slice(1);
}
