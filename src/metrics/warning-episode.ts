import { WARNED_KINDS, excessLines } from "./early-warning.ts";
import type { EarlyWarning, WarnedKind } from "./early-warning.ts";

/** Days on which an entity was warned of, with at most 45 days between two of them; days count from 1970-01-01. */
export type WarningEpisode = {
  kind: WarnedKind;
  key: string;
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
  /** To be told now: one per episode, the narrowest entity that explains it. */
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
      .map((episode) => [idOf(episode), episode]),
  );
  const warned = new Set(warnings.map(idOf));
  const episodes = new Map<string, WarningEpisode>();
  const announced: EarlyWarning[] = [];
  const put = (entity: { kind: WarnedKind; key: string }, isAnnounced: boolean): void => {
    const { kind, key } = entity;
    const before = episodes.get(idOf(entity)) ?? ongoing.get(idOf(entity));
    const startedDay = before?.startedDay ?? asOfDay;
    episodes.set(idOf(entity), {
      kind,
      key,
      startedDay,
      latestDay: asOfDay,
      isAnnounced: isAnnounced || before?.isAnnounced === true,
    });
  };
  for (const warning of warnings.toSorted(
    (left, right) => breadth(right) - breadth(left) || left.p - right.p,
  )) {
    const isKnown = ongoing.has(idOf(warning)) || episodes.has(idOf(warning));
    const isNews = !isKnown && !isExplained(warning, warned, ongoing);
    put(warning, isNews);
    if (!isNews) continue;
    announced.push(warning);
    for (const part of warning.parts) if (!ongoing.has(idOf(part))) put(part, false);
  }
  return { announced, episodes: [...episodes.values()] };
}

/** Whether one narrower warning, or those announced before together, hold most of the excess. */
function isExplained(
  warning: EarlyWarning,
  warned: ReadonlySet<string>,
  ongoing: ReadonlyMap<string, WarningEpisode>,
): boolean {
  const enough = EXPLAINED * excessLines(warning);
  if (warning.parts.some((part) => warned.has(idOf(part)) && part.excessLines >= enough)) return true;
  const told = warning.parts.filter((part) => ongoing.get(idOf(part))?.isAnnounced === true);
  return told.reduce((sum, part) => sum + part.excessLines, 0) >= enough && told.length > 0;
}

function breadth({ kind }: { kind: WarnedKind }): number {
  return WARNED_KINDS.indexOf(kind);
}

function idOf({ kind, key }: { kind: WarnedKind; key: string }): string {
  return `${kind}:${key}`;
}
