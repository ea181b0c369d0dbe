import { randomUUIDv7 } from "node:crypto";
import { latestCompleteMonth } from "../metrics/completeness.ts";
import { designEffect, orderPattern } from "../metrics/design-effect.ts";
import { dayFromText, dayOfInstant, dayToText, monthFromText, monthOfDate } from "../lib/month.ts";
import type { Connection, Database, Queryable } from "../store/database.ts";
import { raiseDataVersion, type AlertDraft } from "../store/queries/publish.ts";
import {
  loadAlertSettings,
  loadSoldMonths,
  loadWatchedEntities,
  loadListingLines,
  loadWarningDetails,
  listOpenEpisodes,
  insertAlerts,
  markWarned,
  listWarningEpisodes,
  putWarningEpisodes,
} from "../store/queries/alerts.ts";
import type {
  AlertSettingsRow,
  MonthUnitsRow,
  ListingLinesRow,
  OpenEpisodeRow,
  WatchedMonthsRow,
  WarningDetailsRow,
  WarningEpisodeRow,
} from "../store/queries/alerts.ts";
import { lockWorkspace } from "../store/queries/import-stage.ts";
import { loadOrderSums, type OrderSumsRow } from "../store/queries/order-sums.ts";
import { alertsOfEnded } from "./episodes.ts";
import { reportAlerts } from "./report-alert.ts";
import { SPIKE_MONTHS, spikeAlert } from "./spike-alert.ts";
import { staleAlert } from "./stale-alert.ts";
import { basePeriod, horizonDays } from "../metrics/age-curve.ts";
import type { EarlyWarning, ListingLines, StoreEvidence, WarnedKind } from "../metrics/early-warning.ts";
import { RECENT_DAYS, findEarlyWarnings } from "../metrics/early-warning.ts";
import { areLabelCostsIncluded } from "../metrics/label.ts";
import { announceWarnings, isOpen, newEpisodeId, type WarningEpisode } from "../metrics/warning-episode.ts";
import { planAsUsual, planForManyRows, sizeOfMonths } from "../store/query.ts";
import { earlyWarningAlert } from "./early-warning-alert.ts";

type AlertEvaluation = { database: Database; shopKey: number; now: Date };

/** Something else is writing the workspace's data. */
class DataHeld extends Error {
  override name = "DataHeld";
}

/** M16: how many SKUs are watched automatically, by returned units of the newest complete months of a year. */
const RANKED_SKUS = 20;
const YEAR_MONTHS = 12;

/**
 * Writes the alerts that a workspace's present state calls for and that were not written before, in one transaction, and raises
 * the data version if there are any; returns how many. It waits for a run that is writing the workspace's data, and sees all of
 * it or nothing; `onWait` is called before that, and may throw. Throws if there is no such workspace.
 */
export async function evaluateAlerts(
  { database, shopKey, now }: AlertEvaluation,
  onWait?: () => void,
): Promise<{ written: number }> {
  return database.transaction(async (connection) => {
    await lockWorkspace(connection, shopKey, onWait);
    const settings = await loadAlertSettings(connection, shopKey);
    const asOfDay = settings.data_as_of === null ? null : dayOfInstant(settings.data_as_of.getTime());
    const newestMonth = latestCompleteMonth(settings.primary_window_days, asOfDay);
    const open = await listOpenEpisodes(connection, shopKey);
    const isWarningDue = asOfDay !== null && isUnseen(settings, asOfDay);
    const soldMonths = (await loadSoldMonths(connection, shopKey)).map(monthOf);
    const size = sizeOfMonths(soldMonths.map(({ soldUnits }) => soldUnits));
    const warnings = isWarningDue
      ? await alertsOfEarlyWarnings(connection, shopKey, { settings, asOfDay, open, size })
      : [];
    const { reports, spikes } = await alertsOfMonths(connection, shopKey, {
      settings,
      newestMonth,
      open: [...open, ...warnings.map(openEpisodeOf)],
      soldMonths,
    });
    const ended =
      isWarningDue && newestMonth !== null && open.length > 0
        ? alertsOfEnded(open, {
            warnedIds: await idsOfWarned(connection, shopKey, asOfDay),
            spikes,
            asOfDay,
            newestMonth,
          })
        : [];
    const drafts = [...ended, ...warnings, ...reports, ...spikes, ...alertsOfSources(settings, now)];
    const written = await storeAlerts(connection, shopKey, drafts);
    if (isWarningDue) await markWarned(connection, shopKey, dayToText(asOfDay));
    return { written };
  });
}

/**
 * The same without waiting: a run that is writing the workspace's data, which may take an hour, evaluates its alerts at its end, and
 * the next hourly check does if that fails.
 */
export async function evaluateAlertsUnlessHeld(evaluation: AlertEvaluation): Promise<void> {
  const refuse = (): never => {
    throw new DataHeld();
  };
  await evaluateAlerts(evaluation, refuse).catch((error: unknown) => {
    if (!(error instanceof DataHeld)) throw error;
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
    await lockWorkspace(connection, shopKey);
    const settings = await loadAlertSettings(connection, shopKey);
    const open = await listOpenEpisodes(connection, shopKey);
    const drafts = await alertsOfEarlyWarnings(connection, shopKey, {
      settings,
      asOfDay,
      open,
      size: "large",
    });
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

/** Whether early warnings have not been evaluated at this as-of day and data version: evaluation reads months of lines. */
function isUnseen(settings: AlertSettingsRow, asOfDay: number): boolean {
  return settings.warned_on !== dayToText(asOfDay) || settings.warned_version !== settings.data_version;
}

async function alertsOfMonths(
  connection: Connection,
  shopKey: number,
  {
    settings,
    newestMonth,
    open,
    soldMonths,
  }: {
    settings: AlertSettingsRow;
    newestMonth: number | null;
    open: readonly OpenEpisodeRow[];
    soldMonths: readonly ReturnType<typeof monthOf>[];
  },
): Promise<{ reports: AlertDraft[]; spikes: AlertDraft[] }> {
  const { min_sold_units: minSoldUnits, primary_window_days: primaryWindowDays } = settings;
  if (newestMonth === null) return { reports: [], spikes: [] };
  const complete = soldMonths.filter(({ cohortMonth }) => cohortMonth <= newestMonth);
  const firstMonth = complete[0]?.cohortMonth;
  if (firstMonth === undefined) return { reports: [], spikes: [] };
  const startOf = (months: number): number => Math.max(firstMonth, newestMonth - months + 1);
  const watched = await loadWatchedEntities(connection, shopKey, {
    firstMonth: startOf(SPIKE_MONTHS),
    lastMonth: newestMonth,
    firstRankedMonth: startOf(YEAR_MONTHS),
    rankedSkus: RANKED_SKUS,
  });
  const spikeSettings = { newestMonth, firstMonth, minSoldUnits, primaryWindowDays, open };
  const alertOf = (row: WatchedMonthsRow, sums: OrderSumsRow | null): AlertDraft | null => {
    const months = row.months.map(monthOf);
    const newest = months.find(({ cohortMonth }) => cohortMonth === newestMonth);
    const entity = {
      kind: row.entity_kind,
      key: row.entity_key,
      title: row.product_title,
      warnedDay: row.warned_on === null ? null : dayFromText(row.warned_on),
      episodeId: row.episode_id,
      effect: effectOf(sums, newest?.soldUnits ?? 0),
      months,
    };
    return spikeAlert(entity, spikeSettings);
  };
  // The design effect (M6) only widens an interval: it can refute a spike, but not make one.
  const suspects = watched.filter((row) => alertOf(row, null) !== null);
  const sums =
    suspects.length === 0
      ? []
      : await loadOrderSums(connection, shopKey, {
          windowDays: primaryWindowDays,
          startMonth: startOf(YEAR_MONTHS),
          endMonth: newestMonth,
          months: [newestMonth],
          parts: suspects.map(({ entity_kind: kind, entity_key: key }) => [
            { kind, key, includeUsed: false, vendor: null },
          ]),
        });
  const spikes = suspects.map((row, place) => alertOf(row, sums[place] ?? null));
  const announcedMonth = monthFromText(settings.newest_report_month ?? "");
  return {
    reports: reportAlerts(complete, { announcedMonth, primaryWindowDays }),
    spikes: spikes.filter((alert) => alert !== null),
  };
}

/** The early warning's alert as it will be stored. */
function openEpisodeOf({ title, metadata }: AlertDraft): OpenEpisodeRow {
  const { episode_id, started_on } = metadata as { episode_id: string; started_on: string };
  return { episode_id, kind: "early_warning", title, started_on, cohort_month: null, selector: {} };
}

/** M6: the effect of the tested month. */
function effectOf(sums: OrderSumsRow | null, soldUnits: number): number {
  const [month] = sums?.months ?? [];
  if (sums === null || month === undefined) return 1;
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
          isConnected: row.is_connected,
          lastSyncedAt: row.last_synced_at === null ? null : new Date(row.last_synced_at),
          connectedAt: new Date(row.connected_at),
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

/** M17: the alerts of an as-of day; stores episodes that began or continued. `size`: of the months. */
async function alertsOfEarlyWarnings(
  connection: Connection,
  shopKey: number,
  {
    settings,
    asOfDay,
    open,
    size,
  }: {
    settings: AlertSettingsRow;
    asOfDay: number;
    open: readonly OpenEpisodeRow[];
    size: ReturnType<typeof sizeOfMonths>;
  },
): Promise<AlertDraft[]> {
  const horizon = horizonDays(settings.primary_window_days);
  await planForManyRows(connection, size);
  const evidence = await loadEvidence(connection, shopKey, { asOfDay, horizonDays: horizon });
  await planAsUsual(connection);
  const warnings = findEarlyWarnings(evidence, horizon);
  const known = (await listWarningEpisodes(connection, shopKey)).map(episodeOf);
  const { announced, episodes } = announceWarnings(warnings, known, asOfDay);
  await putWarningEpisodes(connection, shopKey, episodes.map(episodeRow));
  const drafts: AlertDraft[] = [];
  for (const warning of announced) {
    const details = await detailsOf(connection, shopKey, settings, { warning, asOfDay });
    // All alerts of a problem have the start of its first.
    const first = open.find(({ episode_id: id }) => id === warning.episodeId);
    const startedOn = first?.started_on ?? dayToText(asOfDay);
    drafts.push(
      earlyWarningAlert(warning, details, { asOfDay, startedOn, currencyCode: settings.currency_code }),
    );
  }
  return drafts;
}

/** M17: the ids of problems with a warning within the gap before the day. */
async function idsOfWarned(
  connection: Connection,
  shopKey: number,
  asOfDay: number,
): Promise<ReadonlySet<string>> {
  const known = (await listWarningEpisodes(connection, shopKey)).map(episodeOf);
  return new Set(known.filter((episode) => isOpen(episode, asOfDay)).map(({ episodeId }) => episodeId));
}

/** M17: a store's sales and returns by an as-of day. */
export async function loadEvidence(
  database: Queryable,
  shopKey: number,
  { asOfDay, horizonDays: horizon }: { asOfDay: number; horizonDays: number },
): Promise<StoreEvidence> {
  const base = basePeriod(asOfDay, horizon);
  const rows = await loadListingLines(database, shopKey, {
    baseFromDay: base.fromDay,
    baseBeforeDay: base.beforeDay,
    recentAfterDay: asOfDay - RECENT_DAYS,
    asOfDay,
  });
  return {
    listings: rows.map((row) => listingLinesOf(row, asOfDay)),
    baseSoldDays: rows[0]?.base_sold_days ?? 0,
  };
}

function listingLinesOf(row: ListingLinesRow, asOfDay: number): ListingLines {
  return {
    sku: row.sku === "" ? null : row.sku,
    productGid: row.product_gid === "" ? null : row.product_gid,
    used: row.used,
    family: row.family,
    category: row.analytics_category,
    base: { lines: row.base_lines, lagDays: row.lag_days, returnedLines: row.lag_lines },
    recent: {
      ageDays: row.recent_days.map((day) => asOfDay - day),
      lines: row.recent_lines,
      returnedAgeDays: row.returned_days.map((day) => asOfDay - day),
      returnedOrders: row.returned_orders,
    },
  };
}

async function detailsOf(
  connection: Connection,
  shopKey: number,
  settings: AlertSettingsRow,
  { warning, asOfDay }: { warning: EarlyWarning; asOfDay: number },
): Promise<WarningDetailsRow> {
  const row = await loadWarningDetails(connection, shopKey, {
    kind: warning.kind,
    key: warning.key,
    orderedAfterDay: asOfDay - warning.windowDays,
    asOfDay,
    partProducts: warning.parts.flatMap(({ kind, key }) => (kind === "product" ? [key] : [])),
  });
  return hasLabelCosts(settings) ? row : { ...row, label_minor: 0 };
}

function hasLabelCosts({ sources, currency_code: currencyCode }: AlertSettingsRow): boolean {
  const states = sources.map(({ kind, status, currency_code, last_synced_at }) => ({
    kind,
    status,
    currencyCode: currency_code,
    lastSyncedAt: last_synced_at,
  }));
  return areLabelCostsIncluded({ sources: states, currencyCode });
}

function episodeOf(row: WarningEpisodeRow): WarningEpisode {
  const entity = { kind: row.entity_kind as WarnedKind, key: row.entity_key };
  const startedDay = dayFromText(row.started_on) as number;
  return {
    ...entity,
    startedDay,
    latestDay: dayFromText(row.latest_on) as number,
    hasWarned: row.is_announced || row.has_warned,
    isAnnounced: row.is_announced,
    episodeId: row.episode_id ?? newEpisodeId(entity, startedDay),
  };
}

function episodeRow(episode: WarningEpisode): WarningEpisodeRow {
  return {
    entity_kind: episode.kind,
    entity_key: episode.key,
    started_on: dayToText(episode.startedDay),
    latest_on: dayToText(episode.latestDay),
    is_announced: episode.isAnnounced,
    has_warned: episode.hasWarned,
    episode_id: episode.episodeId,
  };
}
