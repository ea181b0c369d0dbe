import { runAction } from "../../src/actions/action.ts";
import { textInput } from "../../src/actions/field.ts";
import { createWorkspace } from "../../src/actions/workspace/actions.ts";
import { requireWorkspace } from "../../src/actions/workspace/workspace.ts";
import { OPERATOR } from "../../src/actions/actor.ts";
import type { Database } from "../../src/store/database.ts";
import type { DirectoryRow } from "../../src/store/queries/workspace-directory.ts";

/** A new workspace in euros, as the operator creates it. */
export async function makeWorkspace(
  database: Database,
  domain: string,
  others: { currency?: string; plan?: string } = {},
): Promise<DirectoryRow> {
  const caller = { database, actor: OPERATOR, now: new Date() };
  await runAction(createWorkspace, caller, textInput({ domain, currency: "EUR", ...others }));
  return requireWorkspace(database, domain);
}

/** The operator, who acts on a workspace. */
export function operatorOf(database: Database, workspace: DirectoryRow, now: Date = new Date()) {
  return { database, workspace, actor: OPERATOR, now };
}
