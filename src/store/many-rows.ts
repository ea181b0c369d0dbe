import type { Connection } from "./database.ts";

// The only place for planner settings: the first one makes Citus pass the others on to the workspace's node, where statements are
// planned; elsewhere it has no effect.
const PASSED_ON = "set local citus.propagate_set_commands = 'local'";
// Tables fill during a run: a plan made for an empty one would be kept.
const FOR_RUN = `${PASSED_ON}; set local work_mem = '64MB'; set local cursor_tuple_fraction = 1;
  set local plan_cache_mode = force_custom_plan`;
// The planner expects a few rows after each grouping, and a single one for a new workspace; `analyze` would correct that, but
// block other workspaces' runs. This leads to loops over all rows for each row, or to sorts where hashing is much faster.
const FOR_MANY_ROWS = `${PASSED_ON}; set local jit = off; set local work_mem = '64MB'; set local hash_mem_multiplier = 8;
  set local plan_cache_mode = force_custom_plan; set local enable_nestloop = off; set local enable_mergejoin = off;
  set local enable_sort = off`;
const AS_USUAL = `set local hash_mem_multiplier to default; set local enable_nestloop to default;
  set local enable_mergejoin to default; set local enable_sort to default`;

/** Has the following statements of the transaction planned with their values, for the sorts and joins of a run. */
export async function planForRun(connection: Connection): Promise<void> {
  await connection.client.query(FOR_RUN);
}

/** Has the following statements of the transaction planned for months of lines. */
export async function planForManyRows(connection: Connection): Promise<void> {
  await connection.client.query(FOR_MANY_ROWS);
}

/** Has joins and sorts planned as usual again. */
export async function planAsUsual(connection: Connection): Promise<void> {
  await connection.client.query(AS_USUAL);
}
