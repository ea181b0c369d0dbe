import { defineStatement } from "../database.ts";
import type { Queryable } from "../database.ts";
import type { NewAlert } from "./publish.ts";

const INSERT_ALERTS = defineStatement({
  name: "insert_alerts",
  // The wall clock, not the start of the transaction: a new alert is never dated before an existing one.
  text: `insert into alert (shop_key, alert_id, event_key, category, severity, title, body, metadata, created_at)
         select $1, a.alert_id, a.event_key, a.category, a.severity, a.title, a.body, a.metadata, clock_timestamp()
           from jsonb_to_recordset($2::jsonb) a (alert_id text, event_key text, category text, severity text,
                                                 title text, body text, metadata jsonb)
         on conflict (shop_key, event_key) do nothing returning 1 as written`,
});

/** Writes the alerts whose event was never stored before, to the whole workspace; returns how many. */
export async function insertAlerts(
  database: Queryable,
  shopKey: number,
  alerts: readonly NewAlert[],
): Promise<number> {
  const rows = alerts.map(({ alertId, eventKey, ...alert }) => ({
    alert_id: alertId,
    event_key: eventKey,
    ...alert,
  }));
  return (await database.rows(INSERT_ALERTS, [shopKey, JSON.stringify(rows)])).length;
}
