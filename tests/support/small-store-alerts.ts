/** Alerts of one workspace, of which every fourth is a person's own. */
export function alertRows() {
  return Array.from({ length: 12 }, (_, index) => ({
    alert_id: `alert-${String(index).padStart(2, "0")}`,
    event_key: `event-${index}`,
    recipient: index % 4 === 3 ? "user-1" : null,
    category: index % 2 === 0 ? "return_rate_watchlist" : "backfill_completed",
    severity: "warning",
    title: `Alert ${index}`,
    body: "What happened.",
    link_url: "https://app.example/alerts",
    link_label: "Open",
    metadata: { sku: "JACKET-M" },
    // Three at a time share an instant.
    created_at: `2026-06-0${1 + Math.floor(index / 3)}T08:00:00.123456Z`,
  }));
}

/** An endpoint to which nothing is delivered: its cursor is after every alert. */
export function endpointRows() {
  return [
    {
      endpoint_id: crypto.randomUUID(),
      kind: "webhook",
      name: "an endpoint",
      shown_address: "https://receiver.example",
      sealed_secrets: "\\x00",
      severities: ["critical"],
      wakes: 0,
      failures: 0,
      created_at: "2026-07-01T05:00:00Z",
      created_by: "operator",
      cursor_at: "2099-01-01T00:00:00Z",
      cursor_id: "",
    },
  ];
}
