import { randomUUIDv7 } from "node:crypto";
import { latestCompleteMonth } from "../metrics/completeness.ts";
import { designEffect, orderPattern } from "../metrics/design-effect.ts";
import { dayFromText, dayOfInstant, dayToText, monthFromText, monthOfDate } from "../lib/month.ts";
import type { Connection, Database } from "../store/database.ts";
import { raiseDataVersion } from "../store/queries/publish.ts";
import { loadAlertSettings, loadSoldMonths, loadWatchedEntities } from "../store/queries/alert-load.ts";
import type { AlertSettingsRow, MonthUnitsRow } from "../store/queries/alert-load.ts";
import { insertAlerts } from "../store/queries/alert-write.ts";
import { lockShop } from "../store/queries/import-stage.ts";
import { listOpenEpisodes } from "../store/queries/open-episode.ts";
import type { OpenEpisodeRow } from "../store/queries/open-episode.ts";
import { loadOrderSums } from "../store/queries/order-sums.ts";
import type { OrderSumsRow } from "../store/queries/order-sums.ts";
import { markWarned } from "../store/queries/warning-episode.ts";
import type { AlertDraft } from "./alert-draft.ts";
import { alertsOfEarlyWarnings, idsOfWarned } from "./early-warnings.ts";
import { alertsOfEnded } from "./episodes.ts";
import { reportAlerts } from "./report-alert.ts";
import { SPIKE_MONTHS, spikeAlert } from "./spike-alert.ts";
import { staleAlert } from "./stale-alert.ts";

export type AlertEvaluation = { database: Database; shopKey: number; now: Date };

/** M16: so many SKUs are watched unasked, by returned units of the newest complete months of a year. */
const RANKED_SKUS = 20;
const YEAR_MONTHS = 12;

/**
 * Writes every alert that a workspace's present state calls for and that was never written before, in one
 * transaction, and raises the data version if there is one; returns how many. It waits for a run that writes the shop's data, and sees all of it or nothing.
 * Throws when there is no such workspace.
 */
export async function evaluateAlerts(evaluation: AlertEvaluation): Promise<{ written: number }> {
  const { database, shopKey, now } = evaluation;
  return database.transaction(async (connection) => {
    await lockShop(connection, shopKey);
    const settings = await loadAlertSettings(connection, shopKey);
    const asOfDay = settings.data_as_of === null ? null : dayOfInstant(settings.data_as_of.getTime());
    const isWarningDue = asOfDay !== null && isUnseen(settings, asOfDay);
    const warnings = isWarningDue ? await alertsOfEarlyWarnings(connection, shopKey, settings, asOfDay) : [];
    const known = await listOpenEpisodes(connection, shopKey);
    const open = [...known, ...warnings.map(openEpisodeOf)];
    const { reports, spikes } = await alertsOfMonths(connection, shopKey, { settings, asOfDay, open });
    const ended =
      isWarningDue && known.length > 0
        ? alertsOfEnded(known, {
            warnedIds: await idsOfWarned(connection, shopKey, asOfDay),
            spikes,
            asOfDay,
          })
        : [];
    const drafts = [...ended, ...warnings, ...reports, ...spikes, ...alertsOfSources(settings, now)];
    const written = await storeAlerts(connection, shopKey, drafts);
    if (isWarningDue) await markWarned(connection, shopKey, dayToText(asOfDay));
    return { written };
  });
}

/**
 * M17: writes the early warnings of an earlier as-of day (counted from 1970-01-01), from what had come back by then. Days
 * are replayed oldest first.
 */
export async function replayEarlyWarnings(
  database: Database,
  { shopKey, asOfDay }: { shopKey: number; asOfDay: number },
): Promise<void> {
  await database.transaction(async (connection) => {
    await lockShop(connection, shopKey);
    const settings = await loadAlertSettings(connection, shopKey);
    const drafts = await alertsOfEarlyWarnings(connection, shopKey, settings, asOfDay);
    await storeAlerts(connection, shopKey, drafts);
  });
}

async function storeAlerts(
  connection: Connection,
  shopKey: number,
  drafts: readonly AlertDraft[],
): Promise<number> {
  const alerts = drafts.map((draft) => ({ ...draft, alertId: randomUUIDv7() }));
  const written = await insertAlerts(connection, shopKey, alerts);
  if (written > 0) await raiseDataVersion(connection, shopKey);
  return written;
}

/** Whether early warnings were not looked for yet at this as-of day and data version: it reads months of lines. */
function isUnseen(settings: AlertSettingsRow, asOfDay: number): boolean {
  return settings.warned_on !== dayToText(asOfDay) || settings.warned_version !== settings.data_version;
}

async function alertsOfMonths(
  connection: Connection,
  shopKey: number,
  {
    settings,
    asOfDay,
    open,
  }: { settings: AlertSettingsRow; asOfDay: number | null; open: readonly OpenEpisodeRow[] },
): Promise<{ reports: AlertDraft[]; spikes: AlertDraft[] }> {
  const { min_sold_units: minSoldUnits, primary_window_days: primaryWindowDays } = settings;
  const newestMonth = latestCompleteMonth(primaryWindowDays, asOfDay);
  if (newestMonth === null) return { reports: [], spikes: [] };
  const soldMonths = (await loadSoldMonths(connection, shopKey))
    .map(monthOf)
    .filter(({ cohortMonth }) => cohortMonth <= newestMonth);
  const firstMonth = soldMonths[0]?.cohortMonth;
  if (firstMonth === undefined) return { reports: [], spikes: [] };
  const startOf = (months: number): number => Math.max(firstMonth, newestMonth - months + 1);
  const watched = await loadWatchedEntities(connection, shopKey, {
    firstMonth: startOf(SPIKE_MONTHS),
    lastMonth: newestMonth,
    firstRankedMonth: startOf(YEAR_MONTHS),
    rankedSkus: RANKED_SKUS,
  });
  const sums = await loadOrderSums(connection, shopKey, {
    windowDays: primaryWindowDays,
    startMonth: startOf(YEAR_MONTHS),
    endMonth: newestMonth,
    months: [newestMonth],
    parts: watched.map(({ entity_kind: kind, entity_key: key }) => [
      { kind, key, includeUsed: false, vendor: null },
    ]),
  });
  const spikeSettings = { newestMonth, firstMonth, minSoldUnits, primaryWindowDays, open };
  const spikes = watched.map((row, place) => {
    const months = row.months.map(monthOf);
    const newest = months.find(({ cohortMonth }) => cohortMonth === newestMonth);
    return spikeAlert(
      {
        kind: row.entity_kind,
        key: row.entity_key,
        title: row.product_title,
        warnedDay: row.warned_on === null ? null : dayFromText(row.warned_on),
        episodeId: row.episode_id,
        effect: effectOf(sums[place], newest?.soldUnits ?? 0),
        months,
      },
      spikeSettings,
    );
  });
  const announcedMonth = monthFromText(settings.newest_report_month ?? "");
  return {
    reports: reportAlerts(soldMonths, { announcedMonth, primaryWindowDays }),
    spikes: spikes.filter((alert) => alert !== null),
  };
}

/** What the alert of an early warning will be once it is stored. */
function openEpisodeOf({ title, metadata }: AlertDraft): OpenEpisodeRow {
  const { episode_id, started_on } = metadata as { episode_id: string; started_on: string };
  return { episode_id, kind: "early_warning", title, started_on, cohort_month: null, selector: {} };
}

/** M6: that of the month that is judged. */
function effectOf(sums: OrderSumsRow | undefined, soldUnits: number): number {
  const [month] = sums?.months ?? [];
  if (sums === undefined || month === undefined) return 1;
  const orders = { ...orderPattern(sums.category, sums.store), squaredSoldUnits: new Map() };
  return designEffect(orders, { soldUnits, squaredSoldUnits: month.squared_sold_units });
}

function alertsOfSources({ sources }: AlertSettingsRow, now: Date): AlertDraft[] {
  return sources
    .map((row) =>
      staleAlert(
        {
          source: row.source,
          kind: row.kind,
          isConnection: row.is_connection,
          lastSyncedAt: row.last_synced_at === null ? null : new Date(row.last_synced_at),
          connectedAt: new Date(row.created_at),
        },
        now,
      ),
    )
    .filter((alert) => alert !== null);
}

function monthOf(row: MonthUnitsRow) {
  return {
    cohortMonth: monthOfDate(row.cohort_month),
    soldUnits: row.sold_units,
    returnedUnits: row.returned_units,
  };
}
