import Type from "typebox";
import type { Static } from "typebox";
import { units, figures, rateInterval, rate } from "./meta.ts";
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

export type ReportBridge = Static<typeof bridge>;

const fraction = (description: string) => Type.Number({ minimum: 0, maximum: 1, description });
const fitShare = orNull(
  closed(
    { share: fraction("Its mean."), low: fraction("Low end."), high: fraction("High end.") },
    {
      description:
        "Estimated share of a size's returns with a reason, shrunk towards that of the product's other sizes, with its 90 % interval.",
      component: "ReportFitShare",
    },
  ),
);
const groupUnits = {
  too_small_units: count("Returned units that were too small."),
  too_large_units: count("Returned units that were too large."),
  not_as_described_units: count("Returned units that were not as described."),
  damaged_units: count("Returned units that were damaged or defective."),
  changed_mind_units: count("Units returned because the customer changed their mind."),
  late_units: count("Returned units that came late."),
  wrong_item_units: count("Returned units that were the wrong item."),
  other_units: count("Returned units of other reasons, and of reasons in no group."),
  no_reason_units: count("Returned units without a stated reason."),
};
const sizeKey = text("Value of the option in lower case; empty = none.");

/** How a product fits, by its sizes. */
export const fit = orNull(
  closed(
    {
      option: text("The option whose values are sizes."),
      sentence: orNull(text("Such as Runs small in M and L; null without clear evidence.")),
      usual_too_small_share: fraction("Share of the returns of other products."),
      usual_too_large_share: fraction("Share of the returns of other products."),
      sizes: Type.Array(
        closed(
          {
            size: sizeKey,
            label: Type.String(),
            sold_units: units,
            returned_units: units,
            return_rate: rate,
            ...groupUnits,
            returns_with_reason: count("Orders that returned units of the size with a stated reason."),
            too_small: fitShare,
            too_large: fitShare,
            fit: orNull(
              Type.Enum(["small", "large"], {
                description: "Whether the size runs small or large; null without clear evidence.",
              }),
            ),
            low_evidence: Type.Boolean({
              description: "Whether the shares are based on fewer than 20 such orders.",
            }),
          },
          { component: "ReportFitSize" },
        ),
        {
          description:
            "In the order of sizes; the reasons' units sum to returned_units. At most the 60 sizes with the most sold units.",
        },
      ),
      bracketing: closed(
        {
          orders: count("Orders with the product."),
          bracketed_orders: count("Of them those with two or more of its sizes."),
          share: orNull(fraction("bracketed_orders ÷ orders; null without orders.")),
          sold_units: count("Of the product in these orders."),
          returned_units: count("Of them those that came back."),
        },
        { description: "Orders of two or more sizes of the product." },
      ),
      exchanges: Type.Array(
        closed({
          from: sizeKey,
          to: orNull(
            text("Size that was sent instead; null = of another product, of several sizes, or not known."),
          ),
          units: count("Exchanged units."),
        }),
        {
          description:
            "Units of exchanges by size. Empty where nothing was exchanged, or the source does not say.",
        },
      ),
      unmapped_reasons: Type.Array(closed({ reason: text("As the store has it."), returned_units: units }), {
        description:
          "Up to ten stated reasons that count as other because the workspace has put them into no group.",
      }),
    },
    {
      description:
        "How a product fits: its sizes by reason group, orders of several sizes, exchanges. null for other selections than a product, and for " +
        "products whose variants have no option that is a size.",
      component: "ReportFit",
    },
  ),
);

export type ReportFit = Exclude<Static<typeof fit>, null>;

/** The group of a reason (M22), in words. */
export const REASON_GROUP_WORDS = {
  too_small: "Too small",
  too_large: "Too large",
  not_as_described: "Not as described",
  damaged: "Damaged or defective",
  changed_mind: "Changed mind",
  late: "Late",
  wrong_item: "Wrong item",
  other: "Other",
} as const;
