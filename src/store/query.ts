import type { Readable } from "node:stream";
import pg from "pg";
import copyStreams from "pg-copy-streams";
import { traced, type SpanOptions } from "../lib/trace.ts";
import { defineStatement, type Connection, type Queryable } from "./database.ts";
import { streamOf } from "./silent-connections.ts";

/**
 * A statement as the function that runs it: what it takes after the connection are its values, in their order, unless
 * `valuesOf` makes them of other inputs, or names those members of the last one that follow the others. `On` is `Connection`
 * where it belongs in a transaction.
 */
export type Query<Inputs extends readonly unknown[], Result, On extends Queryable = Queryable> = (
  this: void,
  database: On,
  ...inputs: Inputs
) => Promise<Result>;

type ValuesOf<Inputs extends readonly unknown[]> =
  | ((...inputs: Inputs) => readonly unknown[])
  | (Inputs extends readonly [...unknown[], infer Last] ? readonly (keyof Last)[] : never);
type AnyRow = Record<string, unknown>;

function define<Inputs extends readonly unknown[], Result, On extends Queryable>(
  name: string,
  text: string,
  valuesOf: ValuesOf<Inputs> = (...inputs) => inputs,
  resultOf: (rows: AnyRow[]) => Result,
): Query<Inputs, Result, On> {
  const statement = defineStatement({ name, text });
  const span = spanOf(name);
  const values = typeof valuesOf === "function" ? valuesOf : membersOfLast(valuesOf);
  return async (database, ...inputs) =>
    resultOf(await traced(span, () => database.rows(statement, values(...inputs))));
}

function membersOfLast(names: readonly string[]) {
  return (...inputs: readonly unknown[]) => [
    ...inputs.slice(0, -1),
    ...names.map((name) => (inputs.at(-1) as AnyRow)[name]),
  ];
}

/** A statement in a trace: its name, and neither its text nor its values. It includes the wait for a connection. */
function spanOf(name: string): SpanOptions {
  return {
    name,
    kind: "client",
    attributes: { "db.system.name": "postgresql", "db.query.summary": name },
  };
}

/** Changes rows, and returns nothing. */
export function command<Inputs extends readonly unknown[], On extends Queryable = Queryable>(
  name: string,
  text: string,
  valuesOf?: ValuesOf<Inputs>,
): Query<Inputs, void, On> {
  return define(name, text, valuesOf, () => {});
}

/** All rows. */
export function query<Row, Inputs extends readonly unknown[] = [], On extends Queryable = Queryable>(
  name: string,
  text: string,
  valuesOf?: ValuesOf<Inputs>,
): Query<Inputs, Row[], On> {
  return define(name, text, valuesOf, (rows) => rows as Row[]);
}

/** The one column of all rows. */
export function queryColumn<Value, Inputs extends readonly unknown[] = [], On extends Queryable = Queryable>(
  name: string,
  text: string,
  valuesOf?: ValuesOf<Inputs>,
): Query<Inputs, Value[], On> {
  return define(name, text, valuesOf, (rows) => rows.map((row) => valueOf(row) as Value));
}

/** The first row; null = there is none. */
export function queryRow<Row, Inputs extends readonly unknown[] = [], On extends Queryable = Queryable>(
  name: string,
  text: string,
  valuesOf?: ValuesOf<Inputs>,
): Query<Inputs, Row | null, On> {
  return define(name, text, valuesOf, ([row]) => (row ?? null) as Row | null);
}

/** The first row. Throws when there is none. */
export function requireRow<Row, Inputs extends readonly unknown[] = [], On extends Queryable = Queryable>(
  name: string,
  text: string,
  valuesOf?: ValuesOf<Inputs>,
): Query<Inputs, Row, On> {
  return define(name, text, valuesOf, ([row]) => required(name, row) as Row);
}

/** The one column of the first row; null = there is no row, or it is null. */
export function queryValue<Value, Inputs extends readonly unknown[] = [], On extends Queryable = Queryable>(
  name: string,
  text: string,
  valuesOf?: ValuesOf<Inputs>,
): Query<Inputs, Value | null, On> {
  return define(name, text, valuesOf, ([row]) => (valueOf(row ?? {}) ?? null) as Value | null);
}

/** The one column of the first row. Throws when there is no row. */
export function requireValue<Value, Inputs extends readonly unknown[] = [], On extends Queryable = Queryable>(
  name: string,
  text: string,
  valuesOf?: ValuesOf<Inputs>,
): Query<Inputs, Value, On> {
  return define(name, text, valuesOf, ([row]) => valueOf(required(name, row)) as Value);
}

/** Whether there is a row. */
export function queryAny<Inputs extends readonly unknown[] = [], On extends Queryable = Queryable>(
  name: string,
  text: string,
  valuesOf?: ValuesOf<Inputs>,
): Query<Inputs, boolean, On> {
  return define(name, text, valuesOf, (rows) => rows.length > 0);
}

/** Runs statements one after another with the same inputs; returns the first one's result. */
export function inOrder<Inputs extends readonly unknown[], Result, On extends Queryable>(
  first: Query<Inputs, Result, On>,
  ...others: Query<Inputs, void, On>[]
): Query<Inputs, Result, On> {
  return async (database, ...inputs) => {
    const result = await first(database, ...inputs);
    for (const other of others) await other(database, ...inputs);
    return result;
  };
}

/** The next rows of a cursor; empty at the end. */
export type NextRows<Row> = () => Promise<Row[]>;

/** Of a fetch. As objects and with what is made of them, a chunk and the next one take up to twenty times as much. */
export const MOST_FETCHED_BYTES = 16 * 1024 ** 2;

/**
 * Opens a cursor over the rows of `select`, read in chunks of the given size; it is closed when it is exhausted. `longest`, for rows
 * whose length others decide: the bytes of the longest one, by which chunks have fewer rows.
 */
export function cursor<Row extends object, Inputs extends readonly unknown[] = []>(
  name: string,
  rowsPerFetch: number,
  select: string,
  longest?: Query<Inputs, number, Connection>,
  valuesOf?: ValuesOf<Inputs>,
): Query<Inputs, NextRows<Row>, Connection> {
  const text = `declare ${name} no scroll cursor for ${select}`;
  const open = command<Inputs, Connection>(`open_${name}`, text, valuesOf);
  return async (connection, ...inputs) => {
    const bytes = (await longest?.(connection, ...inputs)) ?? 0;
    const rowsOfBytes = Math.floor(MOST_FETCHED_BYTES / Math.max(1, bytes));
    const most = Math.max(1, Math.min(rowsPerFetch, rowsOfBytes));
    await open(connection, ...inputs);
    let isOpen = true;
    return async () => {
      if (!isOpen) return [];
      const { rows } = await connection.client.query<Row>(`fetch ${most} from ${name}`);
      isOpen = rows.length === most;
      if (!isOpen) await connection.client.query(`close ${name}`);
      return rows;
    };
  };
}

type Literal = string | number | null;

/** Planned for its first rows, as a cursor is: so it begins at once, and needs no disk to sort. */
const AS_CURSOR = "limit (select null::bigint)";

/** What COPY takes of the rows of a statement, and its options. */
export type CopyForm = { list: string; options: string };

/** The rows of `select`, which ends with its order, as COPY writes them. Closed before its end, it closes the connection. */
export function copy<Inputs extends readonly Literal[]>(
  name: string,
  select: string,
): Query<[form: CopyForm, ...Inputs], Readable, Connection> {
  const { text } = defineStatement({ name, text: select });
  return async ({ client }, { list, options }, ...inputs) => {
    // Its duration depends on the reader.
    await client.query("set local statement_timeout = 0");
    const literal = (_: string, number: string): string => literalOf(inputs[Number(number) - 1] ?? null);
    const withValues = text.replaceAll(/\$(\d+)/gu, literal);
    const rows = client.query(
      copyStreams.to(`copy (select ${list} from (${withValues} ${AS_CURSOR}) rows) to stdout (${options})`),
    );
    rows.on("error", () => {});
    rows.on("close", () => {
      if (!rows.readableEnded) streamOf(client).destroy();
    });
    return rows;
  };
}

function literalOf(value: Literal): string {
  return value === null ? "null" : pg.escapeLiteral(String(value));
}

function valueOf(row: AnyRow): unknown {
  return Object.values(row)[0];
}

function required(name: string, row: AnyRow | undefined): AnyRow {
  if (row !== undefined) return row;
  throw new Error(`${name} returned no row`);
}

// The only place for planner settings: the first one makes Citus pass the others on to the workspace's node, where statements are
// planned; elsewhere it has no effect.
const PASSED_ON = "set local citus.propagate_set_commands = 'local'";
const FOR_RUN = `${PASSED_ON}; set local work_mem = '64MB'; set local cursor_tuple_fraction = 1`;
// Tables fill during a large run: a plan made for an empty one would be kept. In a small run planning would take longer than the rest.
const PLANS_OF = {
  large: "set local plan_cache_mode = force_custom_plan",
  small: "set local plan_cache_mode to default",
};
// The planner expects a few rows after each grouping, and a single one for a new workspace; `analyze` would correct that, but
// block other workspaces' runs. This leads to loops over all rows for each row, or to sorts where hashing is much faster.
const FOR_MANY_ROWS = `${PASSED_ON}; set local jit = off; set local work_mem = '64MB'; set local hash_mem_multiplier = 8;
  set local enable_nestloop = off; set local enable_mergejoin = off; set local enable_sort = off`;
const AS_USUAL = `set local hash_mem_multiplier to default; set local enable_nestloop to default;
  set local enable_mergejoin to default; set local enable_sort to default`;

/** Has the following statements of the transaction planned for the sorts and joins of a run; those of a large one with their values. */
export async function planForRun(connection: Connection, size: keyof typeof PLANS_OF): Promise<void> {
  await connection.client.query(`${FOR_RUN}; ${PLANS_OF[size]}`);
}

/** A plan of other shops' months makes a month of 42,000 lines take 1.4 times as long; planning one of 20 lines takes longer than running it. */
const FEW_UNITS = 10_000;

/** How to plan for months in which these units were sold. */
export function sizeOfMonths(soldUnits: readonly number[]): keyof typeof PLANS_OF {
  return soldUnits.some((units) => units > FEW_UNITS) ? "large" : "small";
}

/** Has the following statements of the transaction planned for months of lines; with their values, unless these are small. */
export async function planForManyRows(
  connection: Connection,
  size: keyof typeof PLANS_OF = "large",
): Promise<void> {
  await connection.client.query(`${FOR_MANY_ROWS}; ${PLANS_OF[size]}`);
}

/** Has joins and sorts planned as usual again. */
export async function planAsUsual(connection: Connection): Promise<void> {
  await connection.client.query(AS_USUAL);
}
