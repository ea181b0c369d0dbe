import type { Connection } from "../database.ts";
import { query, queryValue } from "../query.ts";
import { wakeEndpoints } from "./alert-delivery.ts";
import { wakePushes } from "./run-queue.ts";
import type { NewAlert } from "./publish.ts";

/** The moment after the newest broadcast, at full precision; null = there is none. alert_feed. */
const findNextMoment = queryValue<string, [shopKey: number], Connection>(
  "find_next_alert_moment",
  `select (a.created_at + interval '1 microsecond')::text as next_moment from alert a
          where a.shop_key = $1 and a.recipient is null order by a.created_at desc limit 1`,
);

const insertRows = query<
  { created_at: Date },
  [shopKey: number, alerts: string, nextMoment: string | null],
  Connection
>(
  "insert_alerts",
  // The wall clock, not the start of the transaction, and never before an existing alert: clocks of servers differ.
  `insert into alert (shop_key, alert_id, event_key, category, severity, title, body, metadata, created_at)
         select $1, a.alert_id, a.event_key, a.category, a.severity, a.title, a.body, a.metadata,
                greatest(clock_timestamp(), $3::timestamptz)
           from jsonb_to_recordset($2::jsonb) a (alert_id text, event_key text, category text, severity text,
                                                 title text, body text, metadata jsonb)
         on conflict (shop_key, event_key) do nothing returning created_at`,
);

/**
 * Writes the alerts whose event was never stored before, to the whole workspace, and tells its endpoints; returns how many.
 * Needs `lockWorkspace` earlier in the transaction: alerts are committed in the order of their dates, which cursors rely on.
 */
export async function insertAlerts(
  connection: Connection,
  shopKey: number,
  alerts: readonly NewAlert[],
): Promise<number> {
  if (alerts.length === 0) return 0;
  const rows = alerts.map(({ alertId, eventKey, ...alert }) => ({
    alert_id: alertId,
    event_key: eventKey,
    ...alert,
  }));
  const nextMoment = await findNextMoment(connection, shopKey);
  const written = await insertRows(connection, shopKey, JSON.stringify(rows), nextMoment);
  const newest = written.at(-1);
  if (newest !== undefined) {
    await wakeEndpoints(connection, shopKey, newest.created_at);
    await wakePushes(connection, shopKey, newest.created_at);
  }
  return written.length;
}
