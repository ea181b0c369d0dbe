import type { Database, Queryable } from "./database.ts";
import { findAccountWorkspace, listAccountWorkspaceKeys, listDirectory } from "./queries/data-source.ts";
import type { AccountRow } from "./queries/data-source.ts";

/**
 * A workspace of an account, and the database that has its rows. Today it is the directory's own, one PostgreSQL or one Citus;
 * callers of this file would work with a database for each group of workspaces, too (docs/decisions/0040-directory-and-queue.md).
 */
export type AccountWorkspace = AccountRow & { database: Database };

const WORKSPACES_PER_PAGE = 500;

/**
 * The workspaces that are, or were, connected to an account of a source such as demo.myshopify.com, the connected one first; also
 * the one with that domain. Only the directory and the nodes of these workspaces are queried.
 */
export async function listAccountWorkspaces(
  directory: Database,
  source: string,
  account: string,
): Promise<AccountWorkspace[]> {
  const found: AccountWorkspace[] = [];
  for (const shopKey of await listAccountWorkspaceKeys(directory, source, account)) {
    const row = await findAccountWorkspace(directory, shopKey, source, account);
    if (row !== null) found.push({ ...row, database: directory });
  }
  return found.toSorted((one, other) => standingOf(one) - standingOf(other));
}

/** 0 = connected, 1 = was connected, 2 = never was. */
function standingOf({ sealed_credentials: sealed, settings }: AccountRow): number {
  if (sealed !== null) return 0;
  return settings === null ? 2 : 1;
}

/** The keys of every workspace, page by page, without querying their nodes. */
export async function* listWorkspacePages(directory: Queryable): AsyncGenerator<number[]> {
  let after = 0;
  for (;;) {
    const page = await listDirectory(directory, after, WORKSPACES_PER_PAGE);
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    after = last;
  }
}
