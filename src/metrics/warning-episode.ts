import { dayToText } from "../lib/month.ts";
import { breadthOf, entityId, excessLines, type EarlyWarning, type WarnedKind } from "./early-warning.ts";

type Entity = { kind: WarnedKind; key: string };

/** State of an entity that warned or was named as a part; days count from 1970-01-01. */
export type WarningEpisode = Entity & {
  /** The day of its alert: the one that announced it, explains it or named it as a part. */
  startedDay: number;
  latestDay: number;
  /** false = an alert named it as a part on a day on which it did not warn itself: it is announced when it does. */
  hasWarned: boolean;
  /** Whether it was announced itself. */
  isAnnounced: boolean;
  /** The same for all entities of one problem. */
  episodeId: string;
};

/** Days without a warning after which the next one begins an episode. */
const EPISODE_GAP_DAYS = 45;
/** A narrower entity with this part of the excess explains a warning. */
const EXPLAINED = 0.8;

export type AnnouncedWarning = EarlyWarning & { episodeId: string };

type WarnedDay = {
  /** To be reported now: one per episode, the narrowest entity that explains it. */
  announced: AnnouncedWarning[];
  /** Every episode that began or went on that day. */
  episodes: WarningEpisode[];
};

/** The id of a problem that begins with the announcement of an entity. */
export function newEpisodeId({ kind, key }: Entity, asOfDay: number): string {
  return `${kind}:${key}:${dayToText(asOfDay)}`;
}

/** Whether the entity has warned within the gap before the day. */
export function isOpen({ hasWarned, latestDay }: WarningEpisode, asOfDay: number): boolean {
  return hasWarned && asOfDay - latestDay <= EPISODE_GAP_DAYS;
}

/**
 * M17: the new warnings of a day. `known` holds the newest episode of each entity. A continuing warning is not new; nor is one
 * that a narrower warned entity explains, or one named as part of a broader one on this day.
 */
export function announceWarnings(
  warnings: readonly EarlyWarning[],
  known: readonly WarningEpisode[],
  asOfDay: number,
): WarnedDay {
  const isOpenNow = (episode: WarningEpisode): boolean => isOpen(episode, asOfDay);
  const openIds = new Set(known.filter(isOpenNow).map(({ episodeId }) => episodeId));
  const earlier = new Map(
    known.filter(({ episodeId }) => openIds.has(episodeId)).map((episode) => [entityId(episode), episode]),
  );
  const warned = new Set(warnings.map(entityId));
  const episodes = new Map<string, WarningEpisode>();
  const find = (entity: Entity) => episodes.get(entityId(entity)) ?? earlier.get(entityId(entity));
  const begin = (entity: Entity, state: Pick<WarningEpisode, "isAnnounced" | "episodeId">): void => {
    const { kind, key } = entity;
    const hasWarned = warned.has(entityId(entity));
    const days = { startedDay: asOfDay, latestDay: asOfDay };
    episodes.set(entityId(entity), { kind, key, ...days, hasWarned, ...state });
  };
  const announced: AnnouncedWarning[] = [];
  const explained: { warning: EarlyWarning; by: EarlyWarning["parts"] }[] = [];
  const broadestFirst = warnings.toSorted(
    (left, right) => breadthOf(right) - breadthOf(left) || left.p - right.p,
  );
  for (const warning of broadestFirst) {
    const before = find(warning);
    if (before !== undefined && isOpenNow(before)) {
      // An older as-of may be evaluated again; it does not end episodes from a newer one.
      episodes.set(entityId(warning), { ...before, latestDay: Math.max(asOfDay, before.latestDay) });
      continue;
    }
    const by = explaining(warning, (part) => warned.has(entityId(part)), isTold);
    if (by.length > 0) {
      explained.push({ warning, by });
      continue;
    }
    const wholes = broadestFirst.filter(({ parts }) =>
      parts.some((part) => entityId(part) === entityId(warning)),
    );
    const named = [warning, ...warning.parts, ...wholes.toReversed()]
      .map(find)
      .find((episode) => episode !== undefined);
    const episodeId = named?.episodeId ?? newEpisodeId(warning, asOfDay);
    begin(warning, { isAnnounced: true, episodeId });
    announced.push({ ...warning, episodeId });
    for (const part of warning.parts) {
      const episode = find(part);
      const isNew = episode === undefined || (warned.has(entityId(part)) && !isOpenNow(episode));
      if (isNew) begin(part, { isAnnounced: false, episodeId: episode?.episodeId ?? episodeId });
    }
  }
  for (const { warning, by } of explained.toReversed()) {
    const told = by.map(find).filter((episode) => episode !== undefined);
    const episodeId = [find(warning), ...told].find((episode) => episode !== undefined)?.episodeId;
    begin(warning, { isAnnounced: false, episodeId: episodeId ?? newEpisodeId(warning, asOfDay) });
    const episode = find(warning) as WarningEpisode;
    episode.startedDay = Math.min(asOfDay, ...told.map(({ startedDay }) => startedDay));
  }
  return { announced, episodes: [...episodes.values()] };

  function isTold(part: Entity): boolean {
    const episode = earlier.get(entityId(part));
    return episode !== undefined && episode.isAnnounced && isOpenNow(episode);
  }
}

/** The one narrower warning that holds most of the excess, or those announced before that do so together; else none. */
function explaining(
  warning: EarlyWarning,
  isWarned: (part: Entity) => boolean,
  isTold: (part: Entity) => boolean,
): EarlyWarning["parts"] {
  const enough = EXPLAINED * excessLines(warning);
  const one = warning.parts.find((part) => isWarned(part) && part.excessLines >= enough);
  if (one !== undefined) return [one];
  const told = warning.parts.filter(isTold);
  return told.reduce((sum, part) => sum + part.excessLines, 0) >= enough ? told : [];
}
