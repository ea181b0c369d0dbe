import pg from "pg";
import { STATEMENTS } from "../../src/store/database.ts";

/** What was sent on a connection: a statement with its name, or only SQL text. */
type Asked = { name?: string; text: string; values?: unknown[] } | string;

/** A registered statement as a request ran it. */
export type StatementCall = { name: string; text: string; values: readonly unknown[] };

/** The connections that requests use, by application name. */
const OF_REQUESTS = /^returns-(?:admission|reading|ingest|console)$/u;
const TRANSACTION = /^(?:begin|commit|rollback)\b/u;

export type AskedStatements = {
  /** Names of the registered statements that requests ran. */
  names(): string[];
  /** Each registered statement that connections of this application name ran, with its values. */
  callsOf(application: string): StatementCall[];
  /** How many statements requests ran, begin and commit included. */
  count(): number;
  /** SQL that requests ran and that is not in the registry. */
  unregistered(): string[];
  /** Starts again with nothing recorded. */
  forget(): void;
  stop(): void;
};

/** Records every statement on connections for requests in this process, until it is stopped. */
export function recordStatements(): AskedStatements {
  const { prototype } = pg.Client;
  const original = Reflect.get(prototype, "query") as (...parameters: unknown[]) => unknown;
  const asked: Asked[] = [];
  const applications: string[] = [];
  function query(this: pg.Client, ...parameters: unknown[]): unknown {
    const { application_name: name = "" } = Reflect.get(this, "connectionParameters") as {
      application_name?: string;
    };
    if (OF_REQUESTS.test(name)) {
      asked.push(parameters[0] as Asked);
      applications.push(name);
    }
    return original.apply(this, parameters);
  }
  prototype.query = query as typeof prototype.query;
  return {
    names: () => [...new Set(asked.flatMap((one) => registeredOf(one)).map(({ name }) => name))],
    callsOf: (application) =>
      asked.filter((_one, index) => applications[index] === application).flatMap((one) => registeredOf(one)),
    count: () => asked.length,
    unregistered: () => {
      const others = asked.filter((one) => registeredOf(one).length === 0);
      const texts = others.map((one) => (typeof one === "string" ? one : one.text));
      return [...new Set(texts.filter((text) => !TRANSACTION.test(text)))];
    },
    forget: () => {
      asked.splice(0);
      applications.splice(0);
    },
    stop: () => {
      prototype.query = original as typeof prototype.query;
    },
  };
}

/** The registered statement, if there is one. On Citus a node gets it with the tables and the number of a shard. */
function registeredOf(asked: Asked): StatementCall[] {
  if (typeof asked === "string") return [];
  const { name = "", text, values = [] } = asked;
  const statement = STATEMENTS.get(name.replace(/ \d+$/u, ""));
  if (statement === undefined) return [];
  const isItself =
    statement.name === name
      ? text === statement.text
      : text.endsWith(`) ${statement.text}`) ||
        text.endsWith(`), ${statement.text.replace(/^with (?:recursive )?/u, "")}`);
  return isItself ? [{ ...statement, values }] : [];
}
