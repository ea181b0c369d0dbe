import type { Provider } from "../access/provider.ts";
import type { PushOptions } from "../alerts/delivery/send.ts";
import type { Keys } from "../lib/keys.ts";
import type { Retention } from "../lib/retention.ts";
import type { Columns } from "../lib/table.ts";
import type { Connection, Database, DatabasePool } from "../store/database.ts";
import { holdWhetherMoving, type DirectoryRow } from "../store/queries/workspace-directory.ts";
import type { Workspace } from "../store/workspace.ts";
import type { Actor } from "./actor.ts";
import { recordAction, type Detail } from "./audit/record.ts";
import { readInput, textInput, type Fields, type Given, type InputOf } from "./field.ts";
import { movingAway } from "./refusal.ts";
import { holdRights, requireRight, type HeldRights, type Right } from "./right.ts";
import type { Connecting } from "./sources/connect.ts";

/** A text that is shown once, such as a new token. Its type keeps it out of the audit. */
export class ShownSecret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  /** For the document that a command prints with --json. */
  toJSON(): string {
    return this.#text;
  }
}

type Audited = {
  detail: Detail;
  before?: Detail;
  /** The workspace of the audit event, if it is not the caller's; null: the installation. */
  shopKey?: number | null;
};

/** The result of an action. */
export type Done<Result> = {
  /** The output of a command with --json. */
  result: Result;
  /** In a sentence, what counts from now on. */
  done: string;
  /** Shown once: alone on a command's standard output, above `done` on a page. */
  secret?: ShownSecret;
  /** The changed values, after and before; null: no change. */
  audit: Audited | null;
  /** Runs after the commit, such as sending a message; its result and sentence replace the action's. */
  next?: () => Promise<{ result: Result; done: string }>;
};

/** Who acts on what, and with what. */
export type ActionCaller = Partial<Omit<ActionTools, "database">> & {
  database: Database;
  actor: Actor;
  now: Date;
};

/** Who acts on a workspace. `keys` are opened for actions that use them. */
export type WorkspaceCaller = ActionCaller & Pick<ActionTools, "keys"> & { workspace: DirectoryRow };

/** Who acts where links to the console can be made. */
export type LinkCaller<By extends ActionCaller = WorkspaceCaller> = By & {
  /** Such as https://returns.example. Throws a `Refusal` where the console is off. */
  consoleOrigin: () => string;
};

/** The values that form and command pass to every action of a workspace. */
export type SurfaceCaller = LinkCaller & Pick<ActionTools, "push">;

/** The input of `run`: the caller with current rights, the action's transaction, and which workspace it is, if any. */
export type ActionContext<By extends ActionCaller = WorkspaceCaller> = By &
  HeldRights & { connection: Connection } & (By extends { workspace: DirectoryRow } ? Here : unknown);

type Here = { shopKey: number; domain: string };

/** The place where a person is asked for confirmation. */
type Asked = { workspace: Pick<DirectoryRow, "shop_domain"> };

/** A change: its right, audit event, form and command share one name. */
export type Action<
  Inputs extends Fields = Fields,
  Result = unknown,
  By extends ActionCaller = WorkspaceCaller,
  Prepared = unknown,
> = Right & {
  /** Verb and noun, such as "Revoke token": the button of its form. */
  title: string;
  /** Of one that is a command, too: its line in the help. */
  about?: string;
  /** The past tense for the audit, such as "Revoked a token". */
  past: string;
  input: Inputs;
  /** Whether its command opens the installation's keys. */
  usesKeys?: true;
  /** Whether it is allowed for a workspace that moves to another installation, or has moved there. */
  takesMoving?: true;
  /** The confirmation question; null: none. */
  confirm?(input: InputOf<Inputs>, caller: Asked): string | null;
  /**
   * Work before the transaction, such as calling a source: it holds no lock. Work that no transaction can contain, such as a
   * backup, is done here.
   */
  prepare?(caller: By, input: InputOf<Inputs>): Promise<Prepared>;
  run(context: ActionContext<By>, input: InputOf<Inputs>, prepared: Prepared): Promise<Done<Result>>;
  /** Runs after the commit. */
  after?(caller: By, result: Result, input: InputOf<Inputs>): Promise<unknown>;
};

/** Ties the types of an action's input and result. */
export function defineAction<
  Inputs extends Fields,
  Result,
  By extends ActionCaller = WorkspaceCaller,
  Prepared = undefined,
>(action: Action<Inputs, Result, By, Prepared>): Action<Inputs, Result, By, Prepared> {
  return action;
}

/**
 * Runs an action: right, input, `prepare`, then in one transaction session, person and membership, which are read again and
 * held, the right again, that the workspace stays here, `run` and the audit.
 *
 * @throws Refusal as `requireRight`, `readInput` and `movingAway`, and those of the action; SenderGone as `holdRights`
 */
export async function runAction<Inputs extends Fields, Result, By extends ActionCaller, Prepared>(
  action: Action<Inputs, Result, By, Prepared>,
  caller: By,
  given: Given,
): Promise<Done<Result>> {
  requireRight(caller.actor, action);
  const input = readInput(action.input, given, caller.now);
  const { workspace } = caller as Partial<WorkspaceCaller>;
  const shopKey = action.hasNoWorkspace === true ? null : (workspace?.shop_key ?? null);
  const prepared = (await action.prepare?.(caller, input)) as Prepared;
  const done = await caller.database.transaction(async (connection) => {
    const held = await holdRights(connection, {
      actor: caller.actor,
      right: action,
      shopKey,
      now: caller.now,
    });
    if (workspace !== undefined && shopKey !== null && action.takesMoving !== true) {
      if (await holdWhetherMoving(connection, shopKey)) throw movingAway(workspace.shop_domain);
    }
    const context = { ...caller, ...held, connection, shopKey, domain: workspace?.shop_domain };
    const made = await action.run(context as unknown as ActionContext<By>, input, prepared);
    if (made.audit !== null) {
      await recordAction(connection, caller.actor, { shopKey, action: action.name, ...made.audit });
    }
    return made;
  });
  const ended = { ...done, ...(await done.next?.()) };
  await action.after?.(caller, ended.result, input);
  return ended;
}

/** Up to `limit` rows of a list, after the one with a cursor; null: from the first one on. */
export type ListPage = { after: string | null; limit: number };

/** Rows that people and programs read: its right, its command, its filters, its table. */
export type List<
  Row extends object = object,
  By extends ActionCaller = WorkspaceCaller,
  Filters extends Fields = Fields,
> = Right & {
  /** Its line in the help of commands. */
  about: string;
  /** In the words of the table of rights, such as "Read the list of tokens". */
  past: string;
  /** Of the tables of its command and of operators; --json prints the rows. */
  columns: Columns<Row>;
  /** What narrows it, each optional. */
  input?: Filters;
  /** Of one with pages: a row's cursor, with its name and meaning in the help of commands, and how many rows these show. */
  pages?: {
    cursor: (row: Row) => string;
    after: readonly [name: string, help: string];
    defaultLimit: number;
    most: number;
  };
  rows(caller: By, asked: InputOf<Filters>, page: ListPage): Promise<Row[]>;
};

export function defineList<
  Row extends object,
  By extends ActionCaller = WorkspaceCaller,
  Filters extends Fields = Fields,
>(list: List<Row, By, Filters>): List<Row, By, Filters> {
  return list;
}

const NO_FILTER = textInput({});
const FIRST_PAGE: ListPage = { after: null, limit: 1000 };

/** Reads the rows of a list. Throws as `requireRight` and `readInput` do, and a `Refusal` for a cursor that is none. */
export async function readList<Row extends object, By extends ActionCaller, Filters extends Fields>(
  list: List<Row, By, Filters>,
  caller: By,
  given: Given = NO_FILTER,
  page: ListPage = FIRST_PAGE,
): Promise<Row[]> {
  requireRight(caller.actor, list);
  const { input = {} as Filters } = list;
  return list.rows(caller, readInput(input, given, caller.now), page);
}

/** The tools of actions, on every surface. */
export type ActionTools = {
  database: DatabasePool;
  keys: Keys;
  connecting: Connecting;
  /** For exports, each of which holds a connection during its download. */
  exporting: DatabasePool;
  /** How test messages are sent. */
  push: PushOptions;
  /** For what pages say of it; workers apply it. */
  retention: Retention;
  /** By which people sign in besides passkeys; null = none is configured. */
  provider: Provider | null;
};

/** A member who acts on a workspace; `admitted` is used by the statements of requests. */
export type ConsoleCaller = ActionTools & {
  actor: Actor;
  workspace: DirectoryRow;
  admitted: Workspace;
  now: Date;
};
