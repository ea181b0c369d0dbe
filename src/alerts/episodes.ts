import { dayToText, monthToText } from "../lib/month.ts";
import type { OpenEpisodeRow } from "../store/queries/alerts.ts";
import type { AlertDraft } from "../store/queries/publish.ts";
import { selectorOf, dayWords, type WarnedEntity } from "./wording.ts";

type Entity = Omit<WarnedEntity, "title">;

/** An alert's episode: the problem that it announces, or another month or part of one. */
type Episode = { episode_id: string; started_on: string; state: "open" };

/** The episode of a spike: that of its entity's early warning, or of its spike a month before, if it is open; otherwise a new one. */
export function episodeOfSpike(
  { episodeId, ...entity }: Entity & { episodeId: string | null },
  cohortMonth: number,
  open: readonly OpenEpisodeRow[],
): Episode {
  const month = monthToText(cohortMonth);
  const known =
    open.find((row) => row.episode_id === episodeId) ??
    open.find(
      (row) =>
        row.kind === "month" &&
        isAbout(row, entity) &&
        [month, monthToText(cohortMonth - 1)].includes(row.cohort_month ?? ""),
    );
  return {
    episode_id: known?.episode_id ?? `spike:${entity.kind}:${entity.key}:${month}`,
    started_on: known?.started_on ?? `${month}-01`,
    state: "open",
  };
}

/**
 * The alerts that end episodes: of those that are open, the ones without an early warning within the gap and without a spike
 * in the newest complete month, unless that is before a month of their spikes. An episode ends once.
 */
export function alertsOfEnded(
  open: readonly OpenEpisodeRow[],
  {
    warnedIds,
    spikes,
    asOfDay,
    newestMonth,
  }: { warnedIds: ReadonlySet<string>; spikes: readonly AlertDraft[]; asOfDay: number; newestMonth: number },
): AlertDraft[] {
  const isOn = ({ episode_id: id, kind, cohort_month: month, selector }: OpenEpisodeRow): boolean =>
    warnedIds.has(id) ||
    spikes.some(
      ({ metadata }) =>
        metadata["episode_id"] === id || (kind === "month" && holdsSelector(metadata, selector)),
    ) ||
    (month !== null && month > monthToText(newestMonth));
  const endedOn = dayToText(asOfDay);
  return [...Map.groupBy(open, (row) => row.episode_id)].flatMap(
    ([episodeId, [first, ...others]]): AlertDraft[] => {
      if (first === undefined || [first, ...others].some(isOn)) return [];
      return [
        {
          eventKey: `ended:${episodeId}`,
          category: "return_rate_watchlist",
          severity: "info",
          title: `Ended: ${first.title}`,
          body:
            `It began on ${dayWords(first.started_on)}. Up to ${dayWords(endedOn)} there was no early warning for 45 days, and the ` +
            "newest complete month is not a spike.",
          metadata: {
            kind: "ended",
            episode_id: episodeId,
            ...first.selector,
            started_on: first.started_on,
            ended_on: endedOn,
            state: "ended",
          },
        },
      ];
    },
  );
}

function isAbout({ selector }: OpenEpisodeRow, entity: Entity): boolean {
  return holdsSelector(selector, selectorOf(entity));
}

function holdsSelector(
  members: Readonly<Record<string, unknown>> | null,
  selector: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(selector).every(([name, value]) => members?.[name] === value);
}
