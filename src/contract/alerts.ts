import Type from "typebox";
import { defineEndpoint } from "./endpoint.ts";
import { dateTime, meta, nullableText, units } from "./meta.ts";
import { cursorParameter, limitParameter } from "./parameters.ts";

export const alerts = defineEndpoint({
  name: "alerts",
  path: "/api/v1/alerts",
  scope: "read:alerts",
  entitlements: ["api_access"],
  summary: "Workspace alerts, newest first",
  description: "Poll with since, or follow meta.next_cursor through older alerts.",
  parameters: Type.Object({
    since: Type.Optional(
      Type.String({ format: "date-time", description: "Earliest created_at to return, inclusive." }),
    ),
    category: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 100,
        description: "return_rate_watchlist, backfill_completed, connection_stale or report_ready.",
        "x-allowed": "text of at most 100 characters without control characters",
        // REST answers an unknown one with an empty list, as the specification leaves categories open.
        "x-tool-enum": ["return_rate_watchlist", "backfill_completed", "connection_stale", "report_ready"],
      }),
    ),
    ...limitParameter(100, 50),
    ...cursorParameter,
  }),
  response: Type.Object(
    {
      data: Type.Array(
        Type.Object(
          {
            id: Type.String(),
            category: Type.String(),
            severity: Type.Enum(["info", "warning", "critical"]),
            title: Type.String(),
            body: nullableText,
            link_url: nullableText,
            link_label: nullableText,
            metadata: Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()]),
            created_at: dateTime,
          },
          { additionalProperties: false },
        ),
      ),
      meta: meta({
        since: Type.Union([dateTime, Type.Null()]),
        category: nullableText,
        limit: Type.Integer({ minimum: 1, maximum: 100 }),
        returned: units,
        next_cursor: nullableText,
      }),
    },
    { additionalProperties: false },
  ),
  toolName: "list_alerts",
});
