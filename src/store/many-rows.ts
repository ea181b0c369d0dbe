import type { Connection } from "./database.ts";

// The planner expects a few rows after each grouping, and from that a loop over all rows for each, or sorts where hashing
// takes a fraction; it has to see the values, since shops differ in size. The first setting has Citus pass the
// others on to the node of the shop; to others it says nothing.
const FOR_MANY_ROWS = `set local citus.propagate_set_commands = 'local'; set local jit = off;
  set local work_mem = '64MB'; set local hash_mem_multiplier = 8; set local plan_cache_mode = force_custom_plan;
  set local enable_nestloop = off; set local enable_mergejoin = off; set local enable_sort = off`;
const AS_USUAL = `set local hash_mem_multiplier to default; set local plan_cache_mode to default;
  set local enable_nestloop to default; set local enable_mergejoin to default; set local enable_sort to default`;

/** Has the following statements of the transaction planned for months of lines. */
export async function planForManyRows(connection: Connection): Promise<void> {
  await connection.client.query(FOR_MANY_ROWS);
}

/** Has them planned as usual again. */
export async function planAsUsual(connection: Connection): Promise<void> {
  await connection.client.query(AS_USUAL);
}
