import { setTimeout as sleep } from "node:timers/promises";
import { pipeline } from "node:stream/promises";
import { openDatabase, type Connection, type Database } from "../../store/database.ts";
import { isDistributed } from "../../store/distribute.ts";
import {
  listSequences,
  listStoredTables,
  moveSequence,
  findSecretFingerprint,
  insertRootSecret,
  keepSecretFingerprint,
  listRootSecrets,
  lockRootSecrets,
} from "../installation/queries.ts";
import { COORDINATOR_TABLES, listForeignKeys } from "../../store/queries/distribute.ts";
import { lockWorkspace } from "../../store/queries/import-stage.ts";
import { readApplied } from "../../store/migrate.ts";
import { findPlan } from "../plan/queries.ts";
import { wakeWorkspace } from "../../store/queries/run-queue.ts";
import type { DirectoryRow, ShopKeyRange } from "../../store/queries/workspace-directory.ts";
import { eraseWorkspace as eraseRows } from "../../store/queries/workspace-erase.ts";
import { lockMembers } from "../../store/queries/workspace-member.ts";
import { findShopKeyRange, holdWhetherMoving } from "../../store/queries/workspace-directory.ts";
import {
  beginMove,
  endMove,
  findMove,
  insertMovedPerson,
  listDirectoryHolders,
  listMovedPeople,
  noteMoved,
  tryLockMove,
  waitForChanges,
} from "./queries.ts";
import { streamOf } from "../../store/silent-connections.ts";
import { analyzeData } from "../../store/queries/statistics.ts";
import {
  copyIn,
  copyOut,
  deleteRows,
  digestRows,
  inOrderOfReferences,
  setCopyFormat,
} from "../../store/table-copy.ts";
import type { CopiedTable } from "../../store/table-copy.ts";
import { defineAction, type ActionContext, type ActionCaller } from "../action.ts";
import { recordAction } from "../audit/record.ts";
import { flag, own } from "../field.ts";
import type { Work } from "../installation/backup-folder.ts";
import { impossible, invalid } from "../refusal.ts";

type MoveCaller = ActionCaller & Work & { workspace: DirectoryRow };

type Person = { user_id: string; name: string };

/** The result of a move. */
type Moved = {
  tables: number;
  rows: number;
  /** Tables whose rows an earlier try had copied. */
  copied_before: number;
  /** Members that the target knew by their id, and those that need a link to sign in there. */
  known_people: Person[];
  people_to_invite: Person[];
};

/**
 * Wait after a workspace stops: servers write usage details every ten seconds, and requests admitted before are counted within
 * three.
 */
const SETTLING_MS = 12_000;

/**
 * Moves a workspace to another installation with the same keys: stops it here, copies its rows, compares each table on both
 * sides, and has it served there. Run again, it resumes. The stopped workspace stays here until it is deleted, so that its tokens
 * get 409 instead of 401 while proxies still route here.
 */
export const moveWorkspace = defineAction({
  name: "workspace.move",
  title: "Move workspace",
  about:
    "Move a workspace to another installation with the same keys (docs/scaling.md); run it again to continue.",
  past: "Moved the workspace to another installation",
  least: "operator",
  takesMoving: true,
  input: {
    to: own("The target", readTarget, {
      hint: "the address of the other installation's database, postgres://…",
      placeholder: "url",
    }),
    cancel: flag("Cancel", {
      hint: "cancel a move that was not completed: remove the copy, and serve the workspace here again",
    }),
  },
  confirm: ({ cancel }, { workspace: { shop_domain: domain } }) =>
    cancel
      ? `The copy of ${domain} in the other installation is removed. Cancel the move?`
      : `${domain} is not served until all of it is copied. Move it?`,
  prepare: async (caller: MoveCaller, { to, cancel }) => {
    const { host, pathname } = new URL(to);
    const target = openDatabase({
      url: to,
      maxConnections: 2,
      readOnly: false,
      statementTimeoutMs: 0,
      applicationName: "returns-moving",
      onConnectionError: () => {},
    });
    try {
      const named = { name: `${host}${pathname}`, database: target };
      return cancel ? await cancelMove(caller, named) : await move(caller, named, SETTLING_MS);
    } finally {
      await target.close();
    }
  },
  run: async (context: ActionContext<MoveCaller>, { cancel }, moved) => {
    const { connection, workspace, now } = context;
    const { shop_key: shopKey, shop_domain: domain } = workspace;
    const { tables, rows, copied_before } = moved;
    if (cancel) await endMove(connection, shopKey);
    else await noteMoved(connection, shopKey, now);
    return {
      result: { shop_domain: domain, ...moved },
      done: cancel
        ? `The move is canceled: ${domain} is served here.`
        : `${domain} is served by the other installation. Update the proxies' map (./returns workspace map), then delete ` +
          `the copy here: ./returns workspace delete ${domain}`,
      audit: {
        shopKey: null,
        detail: { shop_domain: domain, canceled: cancel, tables, rows, copied_before },
      },
    };
  },
});

const NOTHING_MOVED: Moved = { tables: 0, rows: 0, copied_before: 0, known_people: [], people_to_invite: [] };

function readTarget(subject: string, given: string): string {
  const url = given.trim();
  if (/^postgres(?:ql)?:\/\//u.test(url) && URL.canParse(url)) return url;
  throw invalid(`${subject} must start with postgres:// or postgresql://.`);
}

/** `settlingMs`: see `SETTLING_MS`. Throws a `Refusal`; unless the target may serve the workspace by then, it is served here again. */
export async function move(caller: MoveCaller, to: Target, settlingMs: number): Promise<Moved> {
  const { database, workspace, signal } = caller;
  const { shop_key: shopKey } = workspace;
  await requireSameInstallation(database, to.database);
  return database.transaction(async (holding) => {
    if (!(await tryLockMove(holding, shopKey)))
      throw impossible("Another move of this workspace is under way.");
    if (await hasArrived(caller, to)) return NOTHING_MOVED;
    await requireRoom(caller, to.database);
    if (!(await beginMove(database, shopKey, to.name))) throw await whyNot(caller);
    // After the target was asked to serve it, only the target knows whether it does.
    const state = { isSwitching: false };
    try {
      await database.transaction((connection) => waitForChanges(connection, shopKey), signal);
      await sleep(settlingMs, undefined, { signal });
      await lockWorkspace(holding, shopKey);
      const sides = { holding, target: to.database, state };
      return await database.longSnapshot(
        null,
        (reading) => copyWorkspace(caller, { ...sides, reading }),
        signal,
      );
    } catch (error) {
      if (!state.isSwitching) await endMove(database, shopKey);
      throw error;
    }
  }, signal);
}

/** Whether the target already serves the workspace that has stopped here: an earlier attempt was interrupted at its end. */
async function hasArrived(caller: MoveCaller, to: Target): Promise<boolean> {
  const { database, workspace } = caller;
  const { shop_key: shopKey, shop_id: shopId, shop_domain: domain } = workspace;
  const [here, there] = await Promise.all([findMove(database, shopKey), findMove(to.database, shopKey)]);
  if (![null, to.name].includes(here?.moving_to ?? null)) throw await whyNot(caller);
  if (there?.shop_id !== shopId || there.moving_to !== null) return false;
  if (here?.moving_to === to.name) return true;
  throw impossible(`Both installations serve ${domain}. Nothing was moved.`);
}

async function whyNot({ database, workspace }: MoveCaller): Promise<Error> {
  const { shop_key: shopKey, shop_domain: domain } = workspace;
  const { moving_to: target = null, moved_at: movedAt = null } = (await findMove(database, shopKey)) ?? {};
  if (target === null) return impossible(`${domain} is scheduled for erasure: cancel the erasure first.`);
  return impossible(
    movedAt === null
      ? `${domain} is moving to ${target}: complete or cancel that first.`
      : `${domain} has moved to ${target}: move it from there.`,
  );
}

/** Removed members can only be restored here: they belong to no workspace. */
const LEFT_BEHIND = "removed_member";

/** `name`: as host:port/database. */
type Target = { name: string; database: Database };

type Sides = { holding: Connection; reading: Connection; target: Database; state: { isSwitching: boolean } };

/** Table by table, so that a retry skips the copied ones; the rows that make it visible and served come last, together. */
async function copyWorkspace(caller: MoveCaller, { holding, reading, target, state }: Sides): Promise<Moved> {
  const { workspace, actor, signal, onProgress } = caller;
  const { shop_key: shopKey, shop_domain: domain } = workspace;
  await setCopyFormat(reading);
  const stored = (await listStoredTables(reading)).filter(
    ({ name, columns }) => columns.includes("shop_key") && name !== LEFT_BEHIND,
  );
  const tables = inOrderOfReferences(stored, await listForeignKeys(reading));
  const last = tables.filter(({ name }) => COORDINATOR_TABLES.includes(name));
  const moved: Moved = {
    ...NOTHING_MOVED,
    tables: tables.length,
    known_people: [],
    people_to_invite: [],
  };
  const copyTable = async (connection: Connection, table: CopiedTable): Promise<void> => {
    const { rows, isCopied } = await copyRows(reading, connection, table, shopKey);
    moved.rows += rows;
    if (!isCopied && rows > 0) moved.copied_before += 1;
  };
  for (const [index, table] of tables.entries()) {
    if (last.includes(table)) continue;
    onProgress(`Copying ${table.name}`, index, tables.length);
    await target.transaction(async (connection) => {
      await setCopyFormat(connection);
      await copyTable(connection, table);
    }, signal);
  }
  await analyzeData(target, shopKey);
  const people = await listMovedPeople(reading, shopKey);
  await target.transaction(async (connection) => {
    await setCopyFormat(connection);
    for (const person of people) {
      const isNew = await insertMovedPerson(connection, person);
      const { user_id, name } = person;
      (isNew ? moved.people_to_invite : moved.known_people).push({ user_id, name });
    }
    for (const table of last) await copyTable(connection, table);
    await raiseSequences(reading, connection);
    await wakeWorkspace(connection, shopKey);
    await endMove(connection, shopKey);
    await recordAction(connection, actor, {
      shopKey,
      action: "workspace.move",
      detail: { shop_domain: domain },
    });
    // Its connection holds the lock that keeps the workspace unchanged.
    if ((await holdWhetherMoving(holding, shopKey)) !== true) throw new Error("the workspace is not stopped");
    state.isSwitching = true;
  }, signal);
  return moved;
}

/**
 * Copies a workspace's rows to a table of the target, compared by count and checksum; skipped if they are equal already. Rows
 * that refer to a workspace are copied with theirs.
 */
async function copyRows(
  reading: Connection,
  connection: Connection,
  table: CopiedTable,
  shopKey: number,
): Promise<{ rows: number; isCopied: boolean }> {
  const wanted = await digestRows(reading, table, shopKey);
  const isEqual = ({ rows, checksum }: typeof wanted): boolean =>
    rows === wanted.rows && checksum === wanted.checksum;
  const present = await digestRows(connection, table, shopKey);
  if (isEqual(present)) return { rows: wanted.rows, isCopied: false };
  if (present.rows > 0) await deleteRows(connection, table, shopKey);
  const source = copyOut(reading, table, shopKey);
  try {
    await pipeline(source, copyIn(connection, table));
  } catch (error) {
    // An unread rest of a COPY would block the connection forever.
    streamOf(reading.client).destroy();
    throw error;
  }
  if (isEqual(await digestRows(connection, table, shopKey))) return { rows: wanted.rows, isCopied: true };
  throw new Error(`the rows of ${table.name} in the target differ from those of the source`);
}

/** New numbers in the target come after those of the rows; shop keys are separate. */
async function raiseSequences(reading: Connection, connection: Connection): Promise<void> {
  const present = new Map(
    (await listSequences(connection)).map(({ name, last_value: last }) => [name, last]),
  );
  for (const { name, last_value: last } of await listSequences(reading)) {
    if (name.startsWith("shop_directory_") || last === null || last <= (present.get(name) ?? 0)) continue;
    await moveSequence(connection, name, last);
  }
}

/** Removes a move's copy, unless the target serves it. */
async function cancelMove(caller: MoveCaller, to: Target): Promise<Moved> {
  const { database, workspace, signal } = caller;
  const { shop_key: shopKey, shop_id: shopId, shop_domain: domain } = workspace;
  return database.transaction(async (holding) => {
    if (!(await tryLockMove(holding, shopKey)))
      throw impossible("Another move of this workspace is under way.");
    const here = await findMove(database, shopKey);
    if (here === null || here.moved_at !== null) {
      throw impossible(`${domain} has moved to ${here?.moving_to ?? to.name}: move it back from there.`);
    }
    // Another target may serve it already.
    if (![null, to.name].includes(here.moving_to)) throw await whyNot(caller);
    await to.database.transaction(async (connection) => {
      const there = await findMove(connection, shopKey);
      if (there?.shop_id !== shopId) {
        if (here.moving_to === to.name) return;
        throw impossible(`${domain} is not moving there: there is nothing to cancel.`);
      }
      if (there.moving_to === null) {
        throw impossible(`The other installation serves ${domain}: move it back from there.`);
      }
      await lockWorkspace(connection, shopKey);
      await lockMembers(connection, shopKey);
      await eraseRows(connection, shopKey);
    }, signal);
    return NOTHING_MOVED;
  }, signal);
}

/**
 * Both must have the same keys, so that tokens, credentials and rows work in the target. A target without keys gets the source's.
 */
async function requireSameInstallation(database: Database, target: Database): Promise<void> {
  if ((await isDistributed(database)) || (await isDistributed(target))) {
    throw impossible(
      "A workspace moves between installations on one PostgreSQL each, not on a Citus cluster.",
    );
  }
  const [here, there] = await Promise.all([database, target].map(readLevel));
  if (here !== there) {
    throw impossible(
      `The schemas of the two installations differ (${here} here, ${there} there): run "./returns migrate" of one version on both.`,
    );
  }
  const fingerprint = await findSecretFingerprint(database);
  if (fingerprint === null) throw impossible("This installation has no keys yet: start it once.");
  const secrets = await listRootSecrets(database);
  const known = await target.transaction(async (connection) => {
    await lockRootSecrets(connection);
    const present = await findSecretFingerprint(connection);
    if (present !== null) return present;
    await keepSecretFingerprint(connection, fingerprint);
    for (const { version, fingerprint: root, sealed_keys: sealed } of secrets) {
      await insertRootSecret(connection, version, root, sealed);
    }
    return fingerprint;
  });
  if (known.equals(fingerprint)) return;
  throw impossible(
    "The other installation has its own keys, so no token would work there: start with a new database, which gets the keys of " +
      "this installation with its first workspace.",
  );
}

async function readLevel(database: Database): Promise<string> {
  return (await readApplied(database)).at(-1)?.name ?? "none";
}

/** The domain and the shop key must be free in the target, now and later, and its plan must allow the same. */
async function requireRoom({ database, workspace }: MoveCaller, target: Database): Promise<void> {
  const { shop_key: shopKey, shop_id: shopId, shop_domain: domain, plan } = workspace;
  const found = await findMove(target, shopKey);
  const holders = await listDirectoryHolders(target, shopKey, domain);
  const isOther = found !== null && found.shop_id !== shopId;
  const other = holders.find((holder) => isOther || holder.shop_key !== shopKey || found === null);
  if (isOther || other !== undefined) {
    const what =
      other?.shop_domain === domain
        ? `a workspace ${domain}`
        : `another workspace with the shop key ${shopKey}`;
    throw impossible(`The other installation has ${what}. Nothing was moved.`);
  }
  const [here, there] = await Promise.all([findShopKeyRange(database), findShopKeyRange(target)]);
  if (givesOut(there, shopKey) && (hasGiven(here, shopKey) || !hasGiven(there, shopKey))) {
    throw impossible(
      `The other installation assigns the shop keys ${there.first} to ${there.last}, among them ${shopKey} of ${domain}: set ` +
        `SHOP_KEY_RANGE there to a range without it, and run "./returns migrate".`,
    );
  }
  const [planHere, planThere] = await Promise.all([findPlan(database, plan), findPlan(target, plan)]);
  if (JSON.stringify(planHere) !== JSON.stringify(planThere)) {
    throw impossible(
      `The plan ${plan} of ${domain} is not the same in the other installation: run "./returns plan set" there first.`,
    );
  }
}

function givesOut({ first, last }: ShopKeyRange, shopKey: number): boolean {
  return shopKey >= first && shopKey <= last;
}

function hasGiven(range: ShopKeyRange, shopKey: number): boolean {
  return givesOut(range, shopKey) && shopKey <= (range.given ?? 0);
}
