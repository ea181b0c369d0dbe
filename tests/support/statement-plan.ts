import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Connection, Statement } from "../../src/store/database.ts";

const QUERIES = join(import.meta.dirname, "../../src/store/queries");

/** Loads every query module, so that STATEMENTS holds all statements. */
export async function importStatements(): Promise<void> {
  for (const file of readdirSync(QUERIES)) {
    if (!file.endsWith(".test.ts")) await import(join(QUERIES, file));
  }
}

/** A node of a plan, as EXPLAIN's verbose JSON has it. */
export type PlanNode = {
  "Node Type": string;
  Operation?: string;
  "Parent Relationship"?: string;
  "Relation Name"?: string;
  Schema?: string;
  "Index Cond"?: string;
  "Recheck Cond"?: string;
  Filter?: string;
  Output?: string[];
  Plans?: PlanNode[];
};

/** The generic plan of a statement; null for one that has none. */
export async function planOf(connection: Connection, statement: Statement): Promise<PlanNode | null> {
  const text = statement.text.replace(/^\s*declare \w+ no scroll cursor for/u, "");
  if (/^\s*(?:analyze|fetch|close|select set_config)\b/u.test(text)) return null;
  const { rows } = await connection.client.query<{ "QUERY PLAN": { Plan: PlanNode }[] }>(
    `explain (generic_plan, verbose, format json) ${text}`,
  );
  return rows[0]?.["QUERY PLAN"][0]?.Plan ?? null;
}

/** A node and all below it. */
export const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/** What becomes the first column of the rows to insert: as the plan's top says it, and as each node below does. */
export function firstOutputs(node: PlanNode): string[] {
  const rows = node.Plans?.find((plan) =>
    ["Outer", "Subquery", "Member"].includes(plan["Parent Relationship"] ?? ""),
  );
  return rows === undefined ? [] : [rows.Output?.[0] ?? "", ...firstOutputs(rows)];
}

/** Whether a plan updates or deletes rows of a session's own table by what it reads of `tables`. */
export function changesSessionBy(plan: PlanNode, tables: ReadonlySet<string>): boolean {
  const changes = nodesOf(plan).filter(
    (node) =>
      node["Node Type"] === "ModifyTable" &&
      node.Operation !== "Insert" &&
      node.Schema?.startsWith("pg_temp") === true,
  );
  return changes.some((change) => nodesOf(change).some((node) => tables.has(node["Relation Name"] ?? "")));
}
