import { within } from "../lib/within.ts";
import { formatValue } from "../on-call/rule.ts";
import { alertsTo, findRule } from "../on-call/rules.ts";
import type { RuleName } from "../on-call/rules.ts";
import { readProcess } from "../on-call/readings.ts";
import type { Reading } from "../on-call/readings.ts";
import { parseSamples } from "../on-call/samples.ts";
import type { Database, Queryable } from "../store/database.ts";
import { deliveryMetrics } from "../store/queries/alert-delivery.ts";
import { findBackupAge, listDueRuns, listTaskDelays } from "../store/queries/on-call.ts";
import { syncAgeSeconds, syncMetrics } from "../store/queries/sync-metrics.ts";
import type { SyncMetricsRow } from "../store/queries/sync-metrics.ts";
import type { Check } from "./doctor.ts";

const LONGEST_READ_MS = 3000;

/** Applies an alerting rule to the current readings. `fine`: the message when it does not fire. */
function checkBy(
  name: string,
  rule: RuleName,
  readings: readonly Reading[],
  fine: string,
  addition = "",
): Check {
  const { severity, unit, sentence } = findRule(rule);
  const broken = readings.filter(({ value }) => alertsTo(rule, value));
  if (broken.length === 0) return { name, ok: true, alert: null, message: fine };
  const sentences = broken.map(({ value, about }) => sentence(formatValue(value, unit), about));
  return { name, ok: severity !== "critical", alert: rule, message: `${sentences.join(" ")}${addition}` };
}

/**
 * What the database knows of the rules; `isSeen`: it also knows what workers do. What it does not answer in time, because of a
 * lock or a lost node, is one check that says so.
 */
export async function checkDatabase(database: Database, isSeen: boolean): Promise<Check[]> {
  const groups = {
    queue: checkQueue,
    tasks: checkTasks,
    syncs: checkSyncs,
    deliveries: checkDeliveries,
    backup: checkBackup,
  };
  const found: Check[] = [];
  for (const [name, check] of Object.entries(groups)) {
    if (name === "queue" && !isSeen) continue;
    const signal = AbortSignal.timeout(LONGEST_READ_MS);
    found.push(...(await database.transaction(check, signal).catch(() => [unread(name)])));
  }
  return found;
}

function unread(group: string): Check {
  return checkBy(group, "ReturnsMetricsUnavailable", [{ value: 1, about: group }], "");
}

async function checkQueue(database: Queryable): Promise<Check[]> {
  const rows = await listDueRuns(database);
  const runs = rows.filter(({ kind }) => kind !== "upload");
  const ages = runs.map(({ kind, age_seconds: age }) => ({ value: age ?? 0, about: kind }));
  const due = runs.reduce((sum, row) => sum + row.due_runs, 0);
  const uploads = rows.filter(({ kind }) => kind === "upload");
  return [
    checkBy("due runs", "ReturnsRunsDue", ages, due === 0 ? "none" : `${due}, and none for long`),
    checkBy(
      "uploads",
      "ReturnsUploadsWaiting",
      uploads.map(({ due_runs: value }) => ({ value, about: "" })),
      "none waits",
    ),
  ];
}

async function checkTasks(database: Queryable): Promise<Check[]> {
  const rows = await listTaskDelays(database);
  const delays = rows.map(({ task, late_seconds: value }) => ({ value, about: task }));
  return [checkBy("schedule", "ReturnsTasksLate", delays, "no task is late")];
}

async function checkSyncs(database: Queryable): Promise<Check[]> {
  const rows = await syncMetrics(database);
  const age = (name: string, kind: SyncMetricsRow["kind"], rule: RuleName): Check => {
    const value = syncAgeSeconds(rows, kind);
    if (value === null) return { name, ok: true, alert: null, message: "none is connected" };
    return checkBy(
      name,
      rule,
      [{ value, about: "" }],
      `the newest sync was ${formatValue(value, "seconds")} ago`,
    );
  };
  const count = (kind: string, isMeant: (status: string) => boolean): number =>
    rows
      .filter((row) => row.kind === kind && isMeant(row.status))
      .reduce((sum, { connections }) => sum + connections, 0);
  const failing = ["store", "label_cost"].map((kind) => ({
    value: count(kind, (status) => status === "failed") / count(kind, (status) => status !== "disconnected"),
    about: kind,
  }));
  return [
    age("stores", "store", "ReturnsStoresLate"),
    age("label costs", "label_cost", "ReturnsLabelsLate"),
    checkBy("sources", "ReturnsSourcesFailing", failing, "few or none fail"),
  ];
}

async function checkDeliveries(database: Queryable): Promise<Check[]> {
  const rows = await deliveryMetrics(database);
  const ages = rows.map(({ kind, age_seconds: age }) => ({ value: age ?? 0, about: kind }));
  const pending = rows.reduce((sum, row) => sum + row.pending, 0);
  const fine =
    pending === 0 ? "no alert is waiting to be delivered" : `${pending} alerts are waiting, none for long`;
  return [checkBy("deliveries", "ReturnsDeliveriesLate", ages, fine)];
}

async function checkBackup(database: Queryable): Promise<Check[]> {
  const age = await findBackupAge(database);
  if (age === null) return [checkBy("backup", "ReturnsBackupMissing", [{ value: 0, about: "" }], "")];
  const readings = [{ value: age, about: "" }];
  return [
    checkBy("backup", "ReturnsBackupOld", readings, `the newest is ${formatValue(age, "seconds")} old`),
  ];
}

/** What only the running service knows. `address`: of its port for operators, null = none is set where this is asked. */
export async function checkService(address: string | null): Promise<Check[]> {
  const unseen = (message: string): Check[] => [{ name: "service", ok: true, alert: null, message }];
  if (address === null)
    return unseen("not checked: set OPERATIONS_PORT to the service's port to check errors, waits and pools");
  const text = await within(
    LONGEST_READ_MS,
    fetch(`${address}/metrics`).then((answer) => (answer.ok ? answer.text() : null)),
  ).catch(() => null);
  if (text === null) return unseen(`not checked: nothing answers at ${address}/metrics`);
  const checks = readProcess(parseSamples(text)).map(({ rule, sinceStart, readings }) =>
    checkBy("service", rule, readings, "", sinceStart ? " (since the process started)" : ""),
  );
  const broken = checks.filter(({ alert }) => alert !== null);
  return broken.length > 0 ? broken : unseen(`answers at ${address}; errors, waits and pools are normal`);
}
