import Type from "typebox";
import { figures, rateInterval } from "./meta.ts";
import { closed, count, orNull, text } from "./schema.ts";

export const rateChange = Type.Number({ minimum: -1, maximum: 1, description: "Difference of two rates." });
const DAY_PATTERN = "^\\d{4}-\\d{2}-\\d{2}$";
const day = Type.String({ pattern: DAY_PATTERN });

const countedDays = count(
  "Days that count: those whose window is still open are left out unless include_incomplete.",
);
const firstOrLastDay = (which: "First" | "Last") =>
  Type.String({
    pattern: DAY_PATTERN,
    description: `${which} day that counts; null when none does, and for selected_non_sale.`,
  });

const eventNames = {
  slug: text("The sale event's slug."),
  label: Type.String(),
  starts_on: day,
  ends_on: day,
};

/** The requested sale event, compared with its baseline. */
export const saleEvent = orNull(
  closed(
    {
      ...eventNames,
      baseline: Type.Enum(["matched_prior", "selected_non_sale", "prior_year"], {
        description: "What it is compared with.",
      }),
      scope: Type.Enum(["current_selection", "event_scope"], {
        description: "Which SKUs its figures cover.",
      }),
      event: closed({ days: countedDays, ...figures, return_rate_interval: rateInterval }),
      baseline_period: closed(
        {
          days: countedDays,
          starts_on: orNull(firstOrLastDay("First")),
          ends_on: orNull(firstOrLastDay("Last")),
          ...figures,
          return_rate_interval: rateInterval,
        },
        { component: "SaleEventBaseline" },
      ),
      return_rate_change: orNull(rateChange),
    },
    {
      description: "null unless saleEvent names a sale event of this workspace.",
      component: "ReportSaleEvent",
    },
  ),
);

/** A sale event that a report can request. */
export const listedSaleEvent = closed(eventNames, { component: "SaleEvent" });
