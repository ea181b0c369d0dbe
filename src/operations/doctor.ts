import { lstatSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { needsMigration, readSchemaLevel, schemaProblem } from "../actions/installation/schema.ts";
import { describeSecret, type SecretPlace } from "../actions/installation/secrets.ts";
import { DEMO_TOKEN_PREFIX } from "../demo/demo-workspace.ts";
import { distanceText } from "../lib/relative-time.ts";
import { retentionText, type Retention } from "../lib/retention.ts";
import { staleForMs, staleSince } from "../metrics/completeness.ts";
import type { Database, Queryable } from "../store/database.ts";
import { isDistributed } from "../store/distribute.ts";
import type { SchemaLevel } from "../store/migrate.ts";
import { deliveryMetrics } from "../store/queries/alert-delivery.ts";
import { serverVersion } from "../store/queries/installation.ts";
import {
  findBackupAge,
  listDueRuns,
  listTaskDelays,
  overdueSeconds,
  syncAgeSeconds,
  syncMetrics,
} from "../store/queries/on-call.ts";
import type { SyncMetricsRow } from "../store/queries/on-call.ts";
import { connectionHealth, countInstallation, countWorkers } from "../store/queries/worker-health.ts";
import type { ConnectionHealthRow } from "../store/queries/worker-health.ts";
import { workspaceHealth, type WorkspaceHealthRow } from "../store/queries/workspace-directory.ts";
import { seesWorkers } from "../store/worker-session.ts";
import { PINNED_APIS } from "../sync/connectors/sources.ts";

/**
 * One check; `message` has the finding, and instructions if it failed. `alert`: the equivalent alert of
 * deploy/prometheus/rules.yml, null: none. If `ok` is true as well, the alert is a warning.
 */
export type Check = { name: string; ok: boolean; alert: string | null; message: string };

type WorkspaceDiagnosis = WorkspaceHealthRow & { problems: string[] };

type ConnectionDiagnosis = ConnectionHealthRow & { is_stale: boolean; problems: string[] };

/** How many there are, and the first of those that have a problem. */
type Counted<Row> = { total: number; with_problems: number; first: Row[] };

/** Workspaces that serve nothing are described, but only a broken installation is not ok. */
export type Diagnosis = {
  ok: boolean;
  checks: Check[];
  /** Also the first whose owner requests a plan. */
  workspaces: Counted<WorkspaceDiagnosis>;
  connections: Counted<ConnectionDiagnosis>;
};

type Patient = SecretPlace & {
  isEmbedded: boolean;
  /** Of the service's port for operators; null = none is set. */
  operationsAddress: string | null;
  retention: Retention;
  /** Whether names of subscriptions stand for plans here. */
  hasPlans: boolean;
};

const UNFINISHED =
  'Rights of database roles or views of one workspace are not those of this version: run "./returns migrate" as the owner.';
const OLDEST_MAJOR = 15;
const NEWEST_MAJOR = 18;

/** A lost connection cuts a run off now and then; more than that is a worker that keeps dying. */
const MANY_INTERRUPTED_RUNS = 5;

/** How many are described: they fit on a screen. */
const MOST_DESCRIBED = 20;

const LONGEST_READ_MS = 3000;
const HOUR_MS = 3_600_000;
const HOUR_SECONDS = 3600;

const fine = (name: string, message: string): Check => ({ name, ok: true, alert: null, message });
const warning = (name: string, alert: string, message: string): Check => ({ ...fine(name, message), alert });
const problem = (name: string, message: string, alert: string | null = null): Check => ({
  name,
  ok: false,
  alert,
  message,
});

/** Looks at everything an operator would ask about first. Reads only; throws when the database does not answer. */
export async function diagnose(patient: Patient): Promise<Diagnosis> {
  const { database } = patient;
  const version = await serverVersion(database);
  const level = await readSchemaLevel(database);
  const checks = [
    checkVersion(version, patient.isEmbedded),
    checkSchema(level, level === "current" && (await needsMigration(database))),
    checkDataFolder(patient.dataFolder),
    fine("kept", retentionText(patient.retention)),
  ];
  let workspaces: Diagnosis["workspaces"] = { total: 0, with_problems: 0, first: [] };
  let connections: Diagnosis["connections"] = { total: 0, with_problems: 0, first: [] };
  if (schemaProblem(level) === null) {
    checks.push({ name: "secret", alert: null, ...(await describeSecret(patient)) });
    const now = new Date();
    const counts = await countInstallation(database);
    const rows = await workspaceHealth(database, MOST_DESCRIBED, patient.hasPlans);
    workspaces = {
      total: counts.workspaces,
      with_problems: rows[0]?.with_problems ?? 0,
      first: rows.map((row) => ({ ...row, problems: problemsOfWorkspace(row) })),
    };
    const troubled = await connectionHealth(database, {
      staleSince: staleSince(now),
      interruptedRuns: MANY_INTERRUPTED_RUNS,
      most: MOST_DESCRIBED,
    });
    connections = {
      total: counts.connections,
      with_problems: troubled[0]?.with_problems ?? 0,
      first: diagnoseConnections(troubled, now),
    };
    checks.push(checkConnections(connections), checkSourceApis(now), ...(await checkRunning(database)));
  }
  checks.push(await checkService(patient.operationsAddress));
  return { ok: checks.every((check) => check.ok), checks, workspaces, connections };
}

/** Workers, and what they and timers do: what an operator looks at every day. */
export async function checkRunning(database: Database): Promise<Check[]> {
  const isSeen = await seesWorkers(database);
  const workers = isSeen ? await countWorkers(database) : null;
  return [checkWorker(workers), ...(await checkUpkeep(database, isSeen))];
}

/** `isUnfinished`: a migration was cut off after its last file, or somebody changed rights. */
function checkSchema(level: SchemaLevel, isUnfinished: boolean): Check {
  const found = isUnfinished ? UNFINISHED : schemaProblem(level);
  if (found !== null) return problem("schema", found, level === "behind" ? "ReturnsSchemaBehind" : null);
  return fine("schema", level === "ahead" ? "newer, and works with this version" : "current");
}

function checkVersion(version: { number: number; name: string }, isEmbedded: boolean): Check {
  const major = Math.floor(version.number / 10_000);
  const found = `PostgreSQL ${version.name}${isEmbedded ? " (embedded)" : ""}`;
  if (major >= OLDEST_MAJOR && major <= NEWEST_MAJOR) return fine("database", found);
  return problem("database", `${found}, but ${OLDEST_MAJOR} to ${NEWEST_MAJOR} are supported.`);
}

/** Secrets that others can read are no secrets. */
function checkDataFolder(dataFolder: string): Check {
  const name = "data folder";
  if (statSync(dataFolder, { throwIfNoEntry: false }) === undefined)
    return fine(name, `${dataFolder} does not exist; nothing needs it.`);
  const secretFiles = readdirSync(dataFolder).filter(
    (file) => file === "secret" || file.startsWith("secret.") || file.startsWith(DEMO_TOKEN_PREFIX),
  );
  const open = secretFiles
    .map((file) => join(dataFolder, file))
    .find((file) => {
      const found = lstatSync(file, { throwIfNoEntry: false });
      return found !== undefined && (found.mode & 0o077) !== 0;
    });
  if (open === undefined) return fine(name, dataFolder);
  return problem(name, `Others can read ${open}: set its mode to 0600.`);
}

/**
 * A source that refuses its credentials, or was not synced for too long, makes answers outdated. One that the operator has
 * disconnected does so on purpose.
 */
export function checkConnections({ total, first: [first] }: Diagnosis["connections"]): Check {
  const name = "connections";
  if (first === undefined || first.broken === 0)
    return fine(name, total === 0 ? "none" : "none is refused or stale");
  const isRefused = first.status === "disconnected";
  const others = first.broken === 1 ? "" : `, and ${first.broken - 1} more`;
  const remedy = isRefused ? "connect it again" : "./returns runs shows why";
  return problem(
    name,
    `${first.source} of ${first.shop_domain} is ${isRefused ? "refused" : "stale"}${others}: ${remedy}.`,
  );
}

/** After its end a source answers with its oldest supported version, which is untested. */
export function checkSourceApis(now: Date): Check {
  const name = "source APIs";
  const ending = PINNED_APIS.filter(({ endsAt }) => endsAt.getTime() - now.getTime() < 60 * 24 * HOUR_MS);
  if (ending.length === 0) {
    const versions = PINNED_APIS.map(
      ({ source, version, endsAt }) =>
        `${source} ${version}, supported until ${endsAt.toISOString().slice(0, 10)}`,
    );
    return fine(name, versions.join("; "));
  }
  const versions = ending.map(({ source, version, endsAt }) => {
    const leftMs = endsAt.getTime() - now.getTime();
    const left = leftMs > 0 ? `supported for ${distanceText(leftMs)} more` : "no longer supported";
    return `The API version ${version} of ${source} is ${left}`;
  });
  return warning(name, "ReturnsSourceApiEnds", `${versions.join("; ")}: upgrade the service.`);
}

/** Without a worker the installation serves existing data: a warning. `workers`: null: not visible. */
export function checkWorker(workers: number | null): Check {
  if (workers === null) return fine("worker", "not visible from this node: run it at the coordinator");
  if (workers > 0) return fine("worker", "connected");
  return warning(
    "worker",
    "ReturnsNoWorker",
    "No worker is running: nothing is synced or imported, and no alert is evaluated or pushed. Start ./returns worker.",
  );
}

/**
 * The work of workers and timers; `isSeen`: the database knows the workers' claims. A query that is not answered in time, because
 * of a lock or a lost node, becomes one check that says so.
 */
async function checkUpkeep(database: Database, isSeen: boolean): Promise<Check[]> {
  const groups = {
    ...(isSeen ? { queue: checkQueue } : {}),
    tasks: checkTasks,
    syncs: checkSyncs,
    deliveries: checkDeliveries,
    backup: checkBackup,
  };
  const found: Check[] = [];
  for (const [name, check] of Object.entries(groups)) {
    const unread = warning(
      name,
      "ReturnsMetricsUnavailable",
      `The database did not answer the query for ${name} within 3 s: look for locks or a lost node.`,
    );
    const signal = AbortSignal.timeout(LONGEST_READ_MS);
    found.push(...(await database.transaction(check, signal).catch(() => [unread])));
  }
  return found;
}

async function checkQueue(database: Queryable): Promise<Check[]> {
  const rows = await listDueRuns(database);
  const runs = rows.filter(({ kind }) => kind !== "upload");
  const due = sum(runs.map((row) => row.due_runs));
  const oldest = Math.max(0, ...runs.map((row) => row.age_seconds ?? 0));
  const uploads = sum(rows.map(({ kind, due_runs: count }) => (kind === "upload" ? count : 0)));
  return [
    oldest > HOUR_SECONDS / 4
      ? warning(
          "due runs",
          "ReturnsRunsDue",
          `${due === 1 ? "1 run is" : `${due} runs are`} due, the oldest for ${forPeople(oldest)}, and no worker has started it: start a worker, or raise SYNC_RUNS.`,
        )
      : fine("due runs", due === 0 ? "none" : `${due}, and none for long`),
    uploads > 0
      ? warning(
          "uploads",
          "ReturnsUploadsWaiting",
          `${uploads} uploads, or saved rules of workspaces, wait for a worker: ./returns runs shows what workers do.`,
        )
      : fine("uploads", "none is waiting"),
  ];
}

async function checkTasks(database: Queryable): Promise<Check[]> {
  const late = (await listTaskDelays(database)).filter((row) => row.late_seconds > HOUR_SECONDS);
  if (late.length === 0) return [fine("schedule", "no task is late")];
  const tasks = late.map(({ task, late_seconds: seconds }) => `${task} by ${forPeople(seconds)}`);
  const message = `${late.length} scheduled tasks are late: ${tasks.join(", ")}. Look for failed tasks in the log of the workers.`;
  return [warning("schedule", "ReturnsTasksLate", message)];
}

async function checkSyncs(database: Queryable): Promise<Check[]> {
  const rows = await syncMetrics(database);
  const stores = syncAgeSeconds(rows, "store");
  const labels = syncAgeSeconds(rows, "label_cost");
  const newest = (seconds: number | null): string =>
    seconds === null ? "none is connected" : `the newest sync was ${forPeople(seconds)} ago`;
  const late = (seconds: number): string =>
    `None has been synced for ${forPeople(seconds)}: ./returns runs shows why.`;
  const isDue = (kind: SyncMetricsRow["kind"]): boolean => overdueSeconds(rows, kind) > HOUR_SECONDS;
  return [
    stores !== null && stores > HOUR_SECONDS && isDue("store")
      ? problem("stores", late(stores), "ReturnsStoresLate")
      : fine("stores", newest(stores)),
    labels !== null && labels > 3 * HOUR_SECONDS && isDue("label_cost")
      ? warning("label costs", "ReturnsLabelsLate", late(labels))
      : fine("label costs", newest(labels)),
    checkFailing(rows),
  ];
}

/** More than one in five of a kind point to a common cause. */
function checkFailing(rows: readonly SyncMetricsRow[]): Check {
  const failing = (["store", "label_cost"] as const).flatMap((kind) => {
    const own = rows.filter((row) => row.kind === kind && row.status !== "disconnected");
    const all = sum(own.map((row) => row.connections));
    const failed = sum(own.map((row) => (row.status === "failed" ? row.connections : 0)));
    return failed > 0.2 * all ? [`${failed} of ${all} sources of the kind ${kind}`] : [];
  });
  if (failing.length === 0) return fine("sources", "at most a few fail");
  const message = `The last run of ${failing.join(" and of ")} failed: ./returns runs shows why.`;
  return warning("sources", "ReturnsSourcesFailing", message);
}

async function checkDeliveries(database: Queryable): Promise<Check[]> {
  const rows = await deliveryMetrics(database);
  const pending = sum(rows.map((row) => row.pending));
  const oldest = Math.max(0, ...rows.map((row) => row.age_seconds ?? 0));
  if (oldest <= HOUR_SECONDS) {
    const few = `${pending === 1 ? "1 alert is" : `${pending} alerts are`} waiting, none for long`;
    return [fine("deliveries", pending === 0 ? "no alert is waiting to be delivered" : few)];
  }
  const message = `${pending === 1 ? "1 alert is" : `${pending} alerts are`} due at their endpoints, the oldest for ${forPeople(oldest)}: ./returns notify list shows why.`;
  return [warning("deliveries", "ReturnsDeliveriesLate", message)];
}

async function checkBackup(database: Queryable): Promise<Check[]> {
  if (await isDistributed(database)) {
    return [
      fine("backup", "not checked: base backups and a restore point of the cluster, see docs/scaling.md"),
    ];
  }
  const age = await findBackupAge(database);
  if (age === null) {
    const message = "No backup has ever been made: ./returns backup FOLDER creates one.";
    return [warning("backup", "ReturnsBackupMissing", message)];
  }
  if (age <= 26 * HOUR_SECONDS) return [fine("backup", `the newest is ${forPeople(age)} old`)];
  const message = `The newest backup is ${forPeople(age)} old: check the job that runs ./returns backup.`;
  return [warning("backup", "ReturnsBackupOld", message)];
}

/** Whether a running service is ready. `address`: of its operators' port, null: none is set here. */
export async function checkService(address: string | null): Promise<Check> {
  const name = "service";
  if (address === null)
    return fine(name, "not checked: set OPERATIONS_PORT to the service's port to check it");
  const answer = await fetch(`${address}/readyz`, { signal: AbortSignal.timeout(LONGEST_READ_MS) })
    .then((response) => response.json() as Promise<{ status?: string; reason?: string }>)
    .catch(() => null);
  if (answer === null) return fine(name, `not checked: nothing answers at ${address}/readyz`);
  if (answer.status === "ready") return fine(name, `ready at ${address}`);
  return problem(name, `Not ready at ${address}: ${answer.reason}. The service's log says more.`);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function forPeople(seconds: number): string {
  return distanceText(seconds * 1000);
}

/** The problem of each connection, as ends of sentences. */
export function diagnoseConnections(rows: readonly ConnectionHealthRow[], now: Date): ConnectionDiagnosis[] {
  return rows.map((row) => {
    const staleMs = staleForMs(row.last_synced_at ?? row.connected_at, now);
    return { ...row, is_stale: staleMs !== null, problems: problemsOfConnection(row, staleMs) };
  });
}

/** `staleMs`: how long ago the last sync was, null = not too long. */
function problemsOfConnection(row: ConnectionHealthRow, staleMs: number | null): string[] {
  const { source, last_error: lastError, failures, interrupted_runs: interruptedRuns } = row;
  const problems: string[] = [];
  if (row.status === "disconnected") {
    problems.push(`${source} is disconnected${reasonOf(lastError)}; it must be connected again`);
  } else if (row.status === "failed" || lastError !== null) {
    problems.push(
      `${source} failed${failures > 1 ? ` ${failures} times in a row` : ""}${reasonOf(lastError)}`,
    );
  }
  if (staleMs !== null) {
    const hours = Math.floor(staleMs / HOUR_MS);
    const outage = row.last_synced_at === null ? "never synced in" : "not synced for";
    problems.push(`${source} has ${outage} ${hours} hours`);
  }
  if (row.foreign_currency_code !== null) {
    problems.push(
      `${source} has labels in ${row.foreign_currency_code}, which is not the shop's currency: its costs are not used`,
    );
  }
  if (row.unbalanced_note !== null) {
    problems.push(`a run of ${source} within a day found: ${row.unbalanced_note.replace(/\.$/u, "")}`);
  }
  if (interruptedRuns >= MANY_INTERRUPTED_RUNS) {
    problems.push(`${interruptedRuns} runs of ${source} were interrupted within a day`);
  }
  return problems;
}

function reasonOf(error: string | null): string {
  return error === null ? "" : ` (${error.replace(/\.$/u, "")})`;
}

function problemsOfWorkspace(row: WorkspaceHealthRow): string[] {
  const problems: string[] = [];
  if (row.billing !== "active") problems.push("billing is inactive: every request is refused");
  if (!row.is_plan_known) problems.push(`the plan ${row.plan} does not exist: every request is refused`);
  if (row.unknown_subscription !== null)
    problems.push(
      `SHOPIFY_PLANS has no plan for the subscription ${row.unknown_subscription}: the plan stays ${row.plan}`,
    );
  if (row.readiness !== "ready")
    problems.push(`${row.readiness}: requests are answered with not_ready ${remedyOf(row)}`);
  if (row.daily_quota !== null && row.requests_today >= row.daily_quota) {
    problems.push("today's quota is used up");
  }
  return problems;
}

/** Until when a workspace that is not ready stays so. */
function remedyOf({ readiness, has_store: isRead }: WorkspaceHealthRow): string {
  if (readiness === "reconnecting") return "until its store is connected again (./returns connect)";
  if (readiness === "moving") {
    return "until the move ends or is canceled (./returns workspace move); where it has moved away, delete it here";
  }
  if (readiness === "erasing")
    return "until it is erased, or the erasure is canceled (./returns workspace keep)";
  if (isRead) return "until its store has been read (./returns runs shows how far it is)";
  return "until its store is connected (./returns connect) or its data imported (./returns import)";
}
