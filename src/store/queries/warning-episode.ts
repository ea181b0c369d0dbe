import { command, query } from "../query.ts";

/** The newest episode of early warnings of an entity; days are YYYY-MM-DD. */
export type WarningEpisodeRow = {
  entity_kind: string;
  entity_key: string;
  started_on: string;
  latest_on: string;
  /** false = another entity's alert named it, or a narrower entity explains it. */
  is_announced: boolean;
  /** Of one that was not announced: whether it warned itself. */
  has_warned: boolean;
  /** null = of before there were ids. */
  episode_id: string | null;
};

/** One row per entity that ever warned or was named as a part: a range of the primary key. */
export const listWarningEpisodes = query<WarningEpisodeRow, [shopKey: number]>(
  "list_warning_episodes",
  `select e.entity_kind, e.entity_key, e.started_on, e.latest_on, e.is_announced, e.has_warned, e.episode_id
           from warning_episode e where e.shop_key = $1`,
);

/** Keeps each entity's newest episode. */
export const putWarningEpisodes = command<[shopKey: number, episodes: readonly WarningEpisodeRow[]]>(
  "put_warning_episodes",
  `insert into warning_episode (shop_key, entity_kind, entity_key, started_on, latest_on, is_announced, has_warned,
                                      episode_id)
         select w.shop_key, e.entity_kind, e.entity_key, e.started_on, e.latest_on, e.is_announced, e.has_warned, e.episode_id
           from workspace w
          cross join jsonb_to_recordset($2::jsonb) e (entity_kind text, entity_key text, started_on date,
                                                      latest_on date, is_announced boolean, has_warned boolean,
                                                      episode_id text)
          where w.shop_key = $1
         on conflict (shop_key, entity_kind, entity_key) do update
            set started_on = excluded.started_on, latest_on = excluded.latest_on, is_announced = excluded.is_announced,
                has_warned = excluded.has_warned, episode_id = excluded.episode_id`,
  (shopKey, episodes) => [shopKey, JSON.stringify(episodes)],
);

/** Notes that early warnings were looked for as of a day (YYYY-MM-DD) at the present data version. */
export const markWarned = command<[shopKey: number, asOfDay: string]>(
  "mark_warned",
  `update workspace set warned_on = $2, warned_version = data_version where shop_key = $1`,
);
