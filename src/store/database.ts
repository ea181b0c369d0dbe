import pg from "pg";
import { exact } from "../lib/exact.ts";
import { watchSilence, type SilenceWatch } from "./silent-connections.ts";

const CANCEL_TIMEOUT_MS = 3000;

/** `end` resolves when no cancellation is pending any more, so that it cannot hit the connection's next user. */
type Canceling = { end(): Promise<void> };

/**
 * Cancels a client's running statement when the signal aborts; otherwise the server would finish it and hold its transaction's
 * locks. Throws the signal's reason if it has already aborted.
 */
function cancelOnAbort(pool: pg.Pool, backendId: number, signal: AbortSignal): Canceling {
  signal.throwIfAborted();
  let canceled: Promise<void> | undefined;
  const cancel = (): void => {
    canceled = cancelStatement(pool, backendId);
  };
  signal.addEventListener("abort", cancel, { once: true });
  return {
    end: async () => {
      signal.removeEventListener("abort", cancel);
      await canceled;
    },
  };
}

/** On a separate connection, since the pool's may all be in use. Never throws: on failure the statement continues. */
async function cancelStatement(pool: pg.Pool, backendId: number): Promise<void> {
  const other = new pg.Client({ ...pool.options, query_timeout: CANCEL_TIMEOUT_MS });
  other.on("error", () => {});
  await other
    .connect()
    // Citus has another function of this name, for its own numbers.
    .then(() => other.query("select pg_cancel_backend($1::integer)", [backendId]))
    .catch(() => {});
  void other.end().catch(() => {});
}

/** A statement that the server prepares once per connection. `name` is unique over the query registry. */
export type Statement = { name: string; text: string };

const definedStatements = new Map<string, Statement>();

/** Every statement of the query modules that were loaded, by name. */
export const STATEMENTS: ReadonlyMap<string, Statement> = definedStatements;

/** Adds a statement to the registry, whose statements are all tested. Throws for a name that is taken. */
export function defineStatement(statement: Statement): Statement {
  if (definedStatements.has(statement.name)) throw new Error(`two statements are named ${statement.name}`);
  definedStatements.set(statement.name, statement);
  return statement;
}

/** Everything that can run a prepared statement: a pool, or one connection inside a transaction. */
export type Queryable = {
  rows<Row>(statement: Statement, values: readonly unknown[]): Promise<Row[]>;
};

/** A pool of connections to one database. */
export type Database = Queryable & {
  /**
   * Runs `work` in one transaction on one connection; any throw rolls all of it back. When `signal` aborts, the
   * statement under way is canceled, and the transaction throws the signal's reason.
   */
  transaction<Result>(
    work: (connection: Connection) => Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result>;
  /**
   * The same on one snapshot, and the database refuses every write: for reading a lot by cursors. `shopKey`: as for `snapshot`;
   * null: the rows of all workspaces.
   */
  longSnapshot<Result>(
    shopKey: number | null,
    work: (connection: Connection) => Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result>;
  close(): Promise<void>;
};

/** Connections of a pool now, and how often a statement or transaction has waited for one since it was opened. */
type PoolUsage = { open: number; idle: number; most: number; waiting: number; waits: number };

export type DatabasePool = Database & {
  /**
   * Runs `work`, which only reads, on one snapshot: all of its statements see the same data. With `ofOneWorkspace` they see only
   * rows of this workspace.
   */
  snapshot<Result>(shopKey: number, work: (connection: Queryable) => Promise<Result>): Promise<Result>;
  usage(): PoolUsage;
};

/** One connection inside a transaction; `client` is for COPY streams and cursors only. */
export type Connection = Queryable & { client: pg.PoolClient };

export type DatabaseOptions = {
  url: string;
  maxConnections: number;
  /** true: the database itself refuses every write on these connections. */
  readOnly: boolean;
  /** true: table names refer to views of one workspace, and a read outside snapshots fails (decision 0047). */
  ofOneWorkspace?: boolean;
  /** true: Citus plans the statements of this database, which requires their values. */
  hasCitus?: boolean;
  /**
   * Longest duration of one statement in milliseconds, after which the server cancels it; 0: no limit (imports). A connection
   * that does not even answer the cancellation is closed a second later.
   */
  statementTimeoutMs: number;
  /** Uses after which a connection is replaced; default: never. */
  mostUses?: number;
  applicationName: string;
  /** Called when an idle connection breaks; the pool replaces it by itself. */
  onConnectionError: (error: Error) => void;
};

const CONNECT_TIMEOUT_MS = 3000;
const BEGIN_SNAPSHOT = "begin isolation level repeatable read, read only";
/** Where the views of workspace-views.ts are, each with the name of its table, and the one workspace that they show to a transaction. */
export const VIEW_SCHEMA = "one_shop";
export const SHOP_SETTING = "returns.shop_key";
/** Time for the server's own cancellation error to arrive. */
const SILENCE_GRACE_MS = 1000;

/**
 * Requests are many and read little: parallel workers, or plans for the values of each, cost more than they save, and slow down
 * other requests.
 */
const READING_SETTINGS = ["-c default_transaction_read_only=on", "-c max_parallel_workers_per_gather=0"];
/** Citus finds the node of a join by the values: it has no plan without them, and this forbids any other. */
const PLAN_ONCE = "-c plan_cache_mode=force_generic_plan";
const VIEWS_FIRST = `-c search_path=${VIEW_SCHEMA},public`;
/** Makes Citus apply a transaction's settings on the nodes. */
const SET_ON_NODES = "-c citus.propagate_set_commands=local";

/** Opens a pool. It connects with the first statement. */
export function openDatabase(options: DatabaseOptions): DatabasePool {
  const { statementTimeoutMs, readOnly } = options;
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.maxConnections,
    maxUses: options.mostUses ?? Infinity,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    application_name: options.applicationName,
    ...(statementTimeoutMs > 0 ? { statement_timeout: statementTimeoutMs } : {}),
    options: settingsOf(options),
    pipeline: readOnly,
    types: { getTypeParser: typeParser as typeof pg.types.getTypeParser },
  });
  pool.on("error", options.onConnectionError);
  const watch = watchSilence(pool, statementTimeoutMs > 0 ? statementTimeoutMs + SILENCE_GRACE_MS : Infinity);
  let waits = 0;
  const countWait = (): void => {
    if (pool.totalCount >= options.maxConnections && pool.waitingCount >= pool.idleCount) waits += 1;
  };
  return {
    rows: (statement, values) => {
      countWait();
      return runOn(pool, statement, values);
    },
    transaction: (work, signal) => {
      countWait();
      return runTransaction({ pool, watch, signal, begin: "begin" }, work);
    },
    longSnapshot: (shopKey, work, signal) => {
      countWait();
      return runTransaction({ pool, watch, signal, begin: beginSnapshot(shopKey) }, work);
    },
    snapshot: (shopKey, work) => {
      countWait();
      return runSnapshot({ pool, watch, begin: beginSnapshot(shopKey) }, work);
    },
    usage: () => ({
      open: pool.totalCount,
      idle: pool.idleCount,
      most: options.maxConnections,
      waiting: pool.waitingCount,
      waits,
    }),
    close: async () => {
      await pool.end();
      watch.stop();
    },
  };
}

function settingsOf({ readOnly, ofOneWorkspace = false, hasCitus = false }: DatabaseOptions): string {
  const reading = readOnly ? READING_SETTINGS : [];
  const planOnce = readOnly && !hasCitus ? [PLAN_ONCE] : [];
  const oneShop = ofOneWorkspace ? [VIEWS_FIRST, ...(hasCitus ? [SET_ON_NODES] : [])] : [];
  // Statements are long texts that run for less time than their compilation takes.
  return ["-c timezone=UTC", "-c jit=off", ...reading, ...planOnce, ...oneShop].join(" ");
}

/**
 * One message, so that it needs no separate round trip; `set local` costs a third of `set_config`, and Citus passes it on to its
 * nodes.
 */
function beginSnapshot(shopKey: number | null): string {
  return shopKey === null
    ? BEGIN_SNAPSHOT
    : `${BEGIN_SNAPSHOT}; set local ${SHOP_SETTING} = '${BigInt(shopKey)}'`;
}

type SnapshotOptions = { pool: pg.Pool; watch: SilenceWatch; begin: string };
type TransactionOptions = SnapshotOptions & { signal: AbortSignal | undefined };

async function runTransaction<Result>(
  { pool, watch, signal, begin }: TransactionOptions,
  work: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  signal?.throwIfAborted();
  const client = await pool.connect();
  watch.answered(client);
  // Without a listener, a connection that dies between two statements would end the process.
  let broken: Error | undefined;
  const onError = (error: Error): void => {
    broken = error;
  };
  client.on("error", onError);
  let canceling: Canceling | undefined;
  const watched = async <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
    watch.asked(client);
    return ask().finally(() => watch.answered(client));
  };
  try {
    if (signal === undefined) {
      await watched(() => client.query(begin));
    } else {
      // Behind a pooler, the number that a client has of its connection is the pooler's.
      const text = `${begin}; select pg_backend_pid() as pid`;
      const begun: unknown = await watched(() => client.query(text));
      const { rows } = (begun as pg.QueryResult<{ pid: number }>[]).at(-1) ?? { rows: [] };
      canceling = cancelOnAbort(pool, rows[0]?.pid ?? 0, signal);
    }
    const result = await work({
      client,
      rows: (statement, values) => {
        signal?.throwIfAborted();
        return watched(() => runOn(client, statement, values));
      },
    });
    signal?.throwIfAborted();
    await canceling?.end();
    await watched(() => client.query("commit"));
    return result;
  } catch (error) {
    await canceling?.end();
    await watched(() => client.query("rollback")).catch((rollbackError: Error) => {
      broken = rollbackError;
    });
    signal?.throwIfAborted();
    throw error;
  } finally {
    client.off("error", onError);
    client.release(broken);
  }
}

async function runSnapshot<Result>(
  { pool, watch, begin }: SnapshotOptions,
  work: (connection: Queryable) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  // Without a listener, a connection that dies between two statements would end the process.
  const ignore = (): void => {};
  client.on("error", ignore);
  // Pipelined: the first statement follows without waiting for this one.
  const begun = client.query(begin);
  begun.catch(ignore);
  try {
    const result = await work({
      rows: (statement, values) => {
        watch.asked(client);
        return runOn(client, statement, values);
      },
    });
    await begun;
    return result;
  } finally {
    const release = (error?: Error): void => {
      client.off("error", ignore);
      client.release(error);
    };
    // Nothing was written, so the end is not awaited.
    client.query("commit").then(() => release(), release);
  }
}

async function runOn<Row>(
  runner: pg.Pool | pg.PoolClient,
  statement: Statement,
  values: readonly unknown[],
): Promise<Row[]> {
  const result = await runner.query({ name: statement.name, text: statement.text, values: [...values] });
  return result.rows as Row[];
}

const INT8 = 20;
const DATE = 1082;
const NUMERIC = 1700;
const INT8_ARRAY = 1016;

/** int8 and numeric arrive as numbers (`Inexact` is thrown beyond 2^53), dates as "YYYY-MM-DD" text. */
function typeParser(oid: number, format?: "text" | "binary"): (value: string) => unknown {
  if (oid === INT8 || oid === NUMERIC) return safeNumber;
  if (oid === DATE) return (value) => value;
  if (oid === INT8_ARRAY) {
    const parse = pg.types.getTypeParser(INT8_ARRAY as never, "text") as (value: string) => (string | null)[];
    return (value) => parse(value).map((item) => (item === null ? null : safeNumber(item)));
  }
  return pg.types.getTypeParser(oid, format) as (value: string) => unknown;
}

function safeNumber(text: string): number {
  return exact(Number(text));
}
