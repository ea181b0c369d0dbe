import { lstatSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { serverVersion } from "../store/queries/installation.ts";
import { connectionHealth } from "../store/queries/worker-health.ts";
import { countWorkers } from "../store/queries/worker-upkeep.ts";
import { workspaceHealth } from "../store/queries/workspace-directory.ts";
import type { WorkspaceHealthRow } from "../store/queries/workspace-directory.ts";
import type { RuleName } from "../on-call/rules.ts";
import type { Retention } from "../store/retention.ts";
import { seesWorkers } from "../store/worker-session.ts";
import { DEMO_TOKEN_PREFIX } from "./demo.ts";
import { checkDatabase, checkService } from "./doctor-alerts.ts";
import { checkConnections, checkWorker, diagnoseConnections } from "./doctor-connections.ts";
import type { ConnectionDiagnosis } from "./doctor-connections.ts";
import { describeSecret } from "./installation-secret.ts";
import type { SecretPlace } from "./installation-secret.ts";
import type { SchemaLevel } from "../store/migrate.ts";
import { retentionText } from "./retention.ts";
import { needsMigration, readSchemaLevel, schemaProblem } from "./schema.ts";

/**
 * One thing looked at; `message` says what was found, and what to do when it is not right. `alert`: the rule of Prometheus that
 * says the same (docs/on-call.md), null = none does. Where it is ok all the same, the alert is a warning.
 */
export type Check = { name: string; ok: boolean; alert: RuleName | null; message: string };

export type WorkspaceDiagnosis = WorkspaceHealthRow & { problems: string[] };

/** Workspaces that serve nothing are described, but only a broken installation is not ok. */
export type Diagnosis = {
  ok: boolean;
  checks: Check[];
  workspaces: WorkspaceDiagnosis[];
  connections: ConnectionDiagnosis[];
};

export type Patient = SecretPlace & {
  isEmbedded: boolean;
  /** Of the service's port for operators; null = none is set. */
  operationsAddress: string | null;
  retention: Retention;
};

const UNFINISHED =
  'Rights of database roles or views of one shop are not those of this version: run "./returns migrate" as the owner.';
const OLDEST_MAJOR = 15;
const NEWEST_MAJOR = 18;

/** Looks at everything an operator would ask about first. Reads only; throws when the database does not answer. */
export async function diagnose(patient: Patient): Promise<Diagnosis> {
  const { database } = patient;
  const version = await serverVersion(database);
  const level = await readSchemaLevel(database);
  const checks = [
    checkVersion(version, patient.isEmbedded),
    checkSchema(level, level === "current" && (await needsMigration(database))),
    checkDataFolder(patient.dataFolder),
    { name: "kept", ok: true, alert: null, message: retentionText(patient.retention) },
  ];
  let workspaces: WorkspaceDiagnosis[] = [];
  let connections: ConnectionDiagnosis[] = [];
  if (schemaProblem(level) === null) {
    checks.push({ name: "secret", alert: null, ...(await describeSecret(patient)) });
    const rows = await workspaceHealth(database);
    workspaces = rows.map((row) => ({ ...row, problems: problemsOf(row) }));
    connections = diagnoseConnections(await connectionHealth(database), new Date());
    const isSeen = await seesWorkers(database);
    const workers = isSeen ? await countWorkers(database) : null;
    checks.push(checkConnections(connections), checkWorker(workers, connections.length));
    checks.push(...(await checkDatabase(database, isSeen)));
  }
  checks.push(...(await checkService(patient.operationsAddress)));
  return { ok: checks.every((check) => check.ok), checks, workspaces, connections };
}

/** `isUnfinished`: a migration was cut off after its last file, or somebody changed rights. */
function checkSchema(level: SchemaLevel, isUnfinished: boolean): Check {
  const problem = isUnfinished ? UNFINISHED : schemaProblem(level);
  const found = level === "ahead" ? "newer, and works with this version" : "current";
  const alert = level === "behind" ? "ReturnsSchemaBehind" : null;
  return { name: "schema", ok: problem === null, alert, message: problem ?? found };
}

function checkVersion(version: { number: number; name: string }, isEmbedded: boolean): Check {
  const major = Math.floor(version.number / 10_000);
  const ok = major >= OLDEST_MAJOR && major <= NEWEST_MAJOR;
  const found = `PostgreSQL ${version.name}${isEmbedded ? " (embedded)" : ""}`;
  const message = ok ? found : `${found}, but ${OLDEST_MAJOR} to ${NEWEST_MAJOR} are supported.`;
  return { name: "database", ok, alert: null, message };
}

/** Secrets that others can read are no secrets. */
function checkDataFolder(dataFolder: string): Check {
  const name = "data folder";
  if (statSync(dataFolder, { throwIfNoEntry: false }) === undefined) {
    return { name, ok: true, alert: null, message: `${dataFolder} does not exist; nothing needs it.` };
  }
  const secretFiles = readdirSync(dataFolder).filter(
    (file) => file === "secret" || file.startsWith("secret.") || file.startsWith(DEMO_TOKEN_PREFIX),
  );
  const open = secretFiles
    .map((file) => join(dataFolder, file))
    .find((file) => {
      const found = lstatSync(file, { throwIfNoEntry: false });
      return found !== undefined && (found.mode & 0o077) !== 0;
    });
  if (open === undefined) return { name, ok: true, alert: null, message: dataFolder };
  return { name, ok: false, alert: null, message: `Others can read ${open}: set its mode to 0600.` };
}

function problemsOf(row: WorkspaceHealthRow): string[] {
  const problems: string[] = [];
  if (row.billing !== "active") problems.push("billing is inactive: every request is refused");
  if (!row.is_plan_known) problems.push(`the plan ${row.plan} does not exist: every request is refused`);
  if (row.readiness !== "ready")
    problems.push(`${row.readiness}: requests are answered with not_ready ${remedyOf(row)}`);
  if (row.daily_quota !== null && row.requests_today >= row.daily_quota) {
    problems.push("today's quota is used up");
  }
  return problems;
}

/** Until when a workspace that is not ready stays so. */
function remedyOf({ readiness, sources }: WorkspaceHealthRow): string {
  if (readiness === "reconnecting") return "until its store is connected again (./returns connect)";
  if (readiness === "erasing") return "until it is erased, or kept after all (./returns workspace keep)";
  const isRead = sources.some(({ kind }) => kind === "store");
  if (isRead) return "until its store has been read (./returns runs shows how far it is)";
  return "until its store is connected (./returns connect) or its data imported (./returns import)";
}
