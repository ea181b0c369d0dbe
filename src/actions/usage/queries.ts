import { query } from "../../store/query.ts";

/** Counted requests of one UTC day; a day without any may have no row. */
export type QuotaDayRow = { day: string; requests: number };

/** The days from one to another, both included, oldest first: a range of the primary key. */
export const listQuotaDays = query<QuotaDayRow, [shopKey: number, fromDay: string, toDay: string]>(
  "list_quota_days",
  `select u.day, u.requests from daily_usage u
          where u.shop_key = $1 and u.day between $2 and $3 order by u.day`,
);

/** Requests that agree in one respect (`dimension`) and in how they ended; `quota_requests` of them are in daily_usage. */
export type UsageSumRow = {
  dimension: "day" | "token" | "endpoint" | "surface";
  /** The day, the token's id, or the name. */
  key: string;
  outcome: string;
  requests: number;
  quota_requests: number;
};

/** The requested usage: of one token, or of all (null). */
type UsageRange = { fromDay: string; toDay: string; tokenId: string | null };

/** The details of a range of days, added up in four ways at once: a range of the primary key, read once. */
export const sumUsage = query<UsageSumRow, [shopKey: number, range: UsageRange]>(
  "sum_usage",
  `select case when grouping(d.day) = 0 then 'day' when grouping(d.token_id) = 0 then 'token'
                     when grouping(d.endpoint) = 0 then 'endpoint' else 'surface' end as dimension,
                coalesce(to_char(d.day, 'YYYY-MM-DD'), d.token_id, d.endpoint, d.surface) as key, d.outcome,
                sum(d.requests) as requests, sum(d.quota_requests) as quota_requests
           from usage_detail d
          where d.shop_key = $1 and d.day between $2 and $3 and ($4::text is null or d.token_id = $4)
          group by grouping sets ((d.day, d.outcome), (d.token_id, d.outcome), (d.endpoint, d.outcome), (d.surface, d.outcome))
          order by 1, 2, 3`,
  ["fromDay", "toDay", "tokenId"],
);
