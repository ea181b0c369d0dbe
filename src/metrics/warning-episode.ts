import { breadthOf, entityId, excessLines } from "./early-warning.ts";
import type { EarlyWarning, WarnedKind } from "./early-warning.ts";

/** Days on which an entity was warned of, with at most 45 days between two of them; days count from 1970-01-01. */
export type WarningEpisode = {
  kind: WarnedKind;
  key: string;
  /** Of an episode that a narrower one explains, the day on which that one began: the day of its alert. */
  startedDay: number;
  latestDay: number;
  /** Whether it was announced itself; otherwise it is part of another entity's warning, or explained by a narrower one. */
  isAnnounced: boolean;
};

/** Days without a warning after which the next one begins an episode. */
export const EPISODE_GAP_DAYS = 45;
/** A narrower entity with this part of the excess explains a warning. */
const EXPLAINED = 0.8;

export type WarnedDay = {
  /** To be reported now: one per episode, the narrowest entity that explains it. */
  announced: EarlyWarning[];
  /** Every episode that began or went on that day. */
  episodes: WarningEpisode[];
};

/**
 * M17: which warnings of a day are news. `known` holds the newest episode of each entity. A warning that goes on is none;
 * neither is one that a narrower warned entity explains, nor one that was named as part of a broader one.
 */
export function announceWarnings(
  warnings: readonly EarlyWarning[],
  known: readonly WarningEpisode[],
  asOfDay: number,
): WarnedDay {
  const ongoing = new Map(
    known
      .filter((episode) => asOfDay - episode.latestDay <= EPISODE_GAP_DAYS)
      .map((episode) => [entityId(episode), episode]),
  );
  const warned = new Set(warnings.map(entityId));
  const episodes = new Map<string, WarningEpisode>();
  const announced: EarlyWarning[] = [];
  const explained: EarlyWarning[] = [];
  const put = (entity: { kind: WarnedKind; key: string }, isAnnounced: boolean): void => {
    const { kind, key } = entity;
    const before = episodes.get(entityId(entity)) ?? ongoing.get(entityId(entity));
    const startedDay = before?.startedDay ?? asOfDay;
    episodes.set(entityId(entity), {
      kind,
      key,
      startedDay,
      // An older as-of may be evaluated again; it does not end what a newer one saw.
      latestDay: Math.max(asOfDay, before?.latestDay ?? asOfDay),
      isAnnounced: isAnnounced || before?.isAnnounced === true,
    });
  };
  for (const warning of warnings.toSorted(
    (left, right) => breadthOf(right) - breadthOf(left) || left.p - right.p,
  )) {
    const isKnown = ongoing.has(entityId(warning)) || episodes.has(entityId(warning));
    const isNews = !isKnown && explaining(warning, warned, ongoing).length === 0;
    put(warning, isNews);
    if (!isKnown && !isNews) explained.push(warning);
    if (!isNews) continue;
    announced.push(warning);
    for (const part of warning.parts) if (!ongoing.has(entityId(part))) put(part, false);
  }
  for (const warning of explained.toReversed()) {
    const days = explaining(warning, warned, ongoing).map(
      (part) => episodes.get(entityId(part)) ?? ongoing.get(entityId(part)),
    );
    const episode = episodes.get(entityId(warning)) as WarningEpisode;
    episode.startedDay = Math.min(asOfDay, ...days.map((part) => part?.startedDay ?? asOfDay));
  }
  return { announced, episodes: [...episodes.values()] };
}

/** The one narrower warning that holds most of the excess, or those announced before that do so together; else none. */
function explaining(
  warning: EarlyWarning,
  warned: ReadonlySet<string>,
  ongoing: ReadonlyMap<string, WarningEpisode>,
): EarlyWarning["parts"] {
  const enough = EXPLAINED * excessLines(warning);
  const one = warning.parts.find((part) => warned.has(entityId(part)) && part.excessLines >= enough);
  if (one !== undefined) return [one];
  const told = warning.parts.filter((part) => ongoing.get(entityId(part))?.isAnnounced === true);
  return told.reduce((sum, part) => sum + part.excessLines, 0) >= enough ? told : [];
}
