import { dayFromText, dayToText } from "../lib/month.ts";
import { basePeriod, horizonDays } from "../metrics/age-curve.ts";
import type { EarlyWarning, ListingLines, StoreEvidence, WarnedKind } from "../metrics/early-warning.ts";
import { RECENT_DAYS, findEarlyWarnings } from "../metrics/early-warning.ts";
import { areLabelCostsIncluded } from "../metrics/label.ts";
import type { WarningEpisode } from "../metrics/warning-episode.ts";
import { announceWarnings, isOpen, newEpisodeId } from "../metrics/warning-episode.ts";
import type { Connection, Queryable } from "../store/database.ts";
import { planAsUsual, planForManyRows } from "../store/many-rows.ts";
import type { AlertSettingsRow, ListingLinesRow } from "../store/queries/alert-load.ts";
import { loadListingLines, loadWarningDetails } from "../store/queries/alert-load.ts";
import type { WarningEpisodeRow } from "../store/queries/warning-episode.ts";
import { listWarningEpisodes, putWarningEpisodes } from "../store/queries/warning-episode.ts";
import type { AlertDraft } from "./alert-draft.ts";
import type { WarningDetails } from "./early-warning-alert.ts";
import { earlyWarningAlert } from "./early-warning-alert.ts";

/** M17: the alerts for what an as-of day calls for; keeps the episodes that began or went on. */
export async function alertsOfEarlyWarnings(
  connection: Connection,
  shopKey: number,
  settings: AlertSettingsRow,
  asOfDay: number,
): Promise<AlertDraft[]> {
  const horizon = horizonDays(settings.primary_window_days);
  await planForManyRows(connection);
  const evidence = await loadEvidence(connection, shopKey, { asOfDay, horizonDays: horizon });
  await planAsUsual(connection);
  const warnings = findEarlyWarnings(evidence, horizon);
  const known = (await listWarningEpisodes(connection, shopKey)).map(episodeOf);
  const { announced, episodes } = announceWarnings(warnings, known, asOfDay);
  await putWarningEpisodes(connection, shopKey, episodes.map(episodeRow));
  const drafts: AlertDraft[] = [];
  for (const warning of announced) {
    const details = await detailsOf(connection, shopKey, settings, { warning, asOfDay });
    const ofProblem = [...known, ...episodes].filter(({ episodeId }) => episodeId === warning.episodeId);
    const startedDay = Math.min(asOfDay, ...ofProblem.map((episode) => episode.startedDay));
    drafts.push(
      earlyWarningAlert(warning, details, { asOfDay, startedDay, currencyCode: settings.currency_code }),
    );
  }
  return drafts;
}

/** M17: the ids of problems of which some entity has warned within the gap before the day. */
export async function idsOfWarned(
  connection: Connection,
  shopKey: number,
  asOfDay: number,
): Promise<ReadonlySet<string>> {
  const known = (await listWarningEpisodes(connection, shopKey)).map(episodeOf);
  return new Set(known.filter((episode) => isOpen(episode, asOfDay)).map(({ episodeId }) => episodeId));
}

/** M17: what a store had sold and taken back by an as-of day. */
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
): Promise<WarningDetails> {
  const row = await loadWarningDetails(connection, shopKey, {
    kind: warning.kind,
    key: warning.key,
    orderedAfterDay: asOfDay - warning.windowDays,
    asOfDay,
  });
  return {
    productTitle: row.product_title,
    orderedFrom: row.ordered_from,
    orderedTo: row.ordered_to,
    soldUnits: row.sold_units,
    returnedUnits: row.returned_units,
    returnedLines: row.returned_lines,
    refundMinor: row.refund_minor,
    labelMinor: hasLabelCosts(settings) ? row.label_minor : 0,
    reasons: row.reasons.map(({ reason, returned_units: returnedUnits }) => ({ reason, returnedUnits })),
  };
}

function hasLabelCosts({ sources, currency_code: currencyCode }: AlertSettingsRow): boolean {
  const states = sources.map(({ kind, status, currency_code, last_synced_at }) => ({
    kind,
    status,
    currencyCode: currency_code,
    lastSyncedAt: last_synced_at,
  }));
  return areLabelCostsIncluded(states, currencyCode);
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
