import Type from "typebox";
import type { Static } from "typebox";
import { units } from "./meta.ts";
import { rateChange } from "./sale-event.ts";
import { closed, count, orNull } from "./schema.ts";

const amount = Type.Number({ description: "Decimal number in currency_code." });

export const outcomes = closed(
  {
    rows: Type.Array(
      closed({
        outcome: Type.Enum(["exchange", "refund", "other"], {
          description:
            "exchange: the return sent units out instead. refund: paid back. other: neither so far, such as store credit.",
        }),
        returned_units: units,
        share: Type.Number({ minimum: 0, maximum: 1, description: "0–1 fraction of the returned units." }),
        refunded_amount: amount,
        kept_amount: Type.Number({
          description:
            "Value of what came back that an exchange kept and nobody paid back, in currency_code.",
        }),
      }),
    ),
    unattributed_refund_amount: orNull(
      Type.Number({
        description:
          "Refunds of an amount that names no line, paid in the requested months; in no other figure. null unless the " +
          "whole workspace is selected.",
      }),
    ),
  },
  {
    description:
      "How the returned units ended, as is known now: three rows that add up to the summary's returned_units and refunded_amount.",
    component: "ReportOutcomes",
  },
);

/** The steps in their order; `after`: the figure that they start from. */
export const BRIDGE_STEPS = [
  { step: "left_out_orders", after: "booked" },
  { step: "order_edits", after: "booked" },
  { step: "canceled_before_fulfillment", after: "booked" },
  { step: "not_counted", after: "booked" },
  { step: "other_days", after: "booked" },
  { step: "other_cohorts", after: "returned_in_months" },
  { step: "later_returns", after: "returned_in_months" },
  { step: "beyond_window", after: "returned_in_months" },
  { step: "open_months", after: "returned_in_months" },
] as const;

export const bridge = closed(
  {
    booked_units: Type.Integer({
      description:
        "Units that the source books as taken back in the requested calendar months, of all orders.",
    }),
    steps: Type.Array(
      closed({
        step: Type.Enum(
          BRIDGE_STEPS.map(({ step }) => step),
          {
            description:
              "left_out_orders: of orders and lines that do not count. order_edits: removed by edits. " +
              "canceled_before_fulfillment: refunded before they were sent. not_counted: refunded, or " +
              "processed in a return, without counting as returned. other_days: returned in these months but booked on days outside, less the " +
              "opposite. other_cohorts: of orders of other months. later_returns: of these months' orders, returned " +
              "outside them. beyond_window: later than the observation window. open_months: of months left out.",
          },
        ),
        units: Type.Integer({ description: "Units that the step adds; below 0, takes away." }),
      }),
      {
        description:
          "booked_units and the first five are returned_in_months_units; with the other four, returned_units.",
      },
    ),
    returned_in_months_units: count(
      "Units returned in the requested calendar months, whenever they were sold.",
    ),
    returned_units: units,
    rate_change: orNull(
      closed(
        {
          timing: rateChange,
          mix: rateChange,
          rate: rateChange,
          return_rate_change: rateChange,
        },
        {
          description:
            "Why the rate differs from that of comparison, as parts that add up: timing: the months compared with had " +
            "longer to come back. mix: other products were sold. rate: the same products come back more or less " +
            "often. null where return_rate_change is.",
        },
      ),
    ),
  },
  {
    description:
      "From what the source itself books as taken back in the requested calendar months to summary.returned_units, step by step.",
    component: "ReportBridge",
  },
);

export type ReportOutcomes = Static<typeof outcomes>;
export type ReportBridge = Static<typeof bridge>;
