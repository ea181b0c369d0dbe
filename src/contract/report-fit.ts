import Type from "typebox";
import type { Static } from "typebox";
import { rate, units } from "./meta.ts";
import { closed, count, orNull, text } from "./schema.ts";

const fraction = (description: string) => Type.Number({ minimum: 0, maximum: 1, description });
const fitShare = orNull(
  closed(
    { share: fraction("Its mean."), low: fraction("Low end."), high: fraction("High end.") },
    {
      description:
        "Share of a size's returns with a reason, held to the product's other sizes, with the ends of its 90 % interval.",
      component: "ReportFitShare",
    },
  ),
);
const groupUnits = {
  too_small_units: count("Returned units that were too small."),
  too_large_units: count("Returned units that were too large."),
  not_as_described_units: count("Returned units that were not as described."),
  damaged_units: count("Returned units that were damaged or defective."),
  changed_mind_units: count("Returned units of which the customer changed their mind."),
  late_units: count("Returned units that came late."),
  wrong_item_units: count("Returned units that were the wrong item."),
  other_units: count("Returned units of other reasons, and of reasons that nobody has put into a group."),
  no_reason_units: count("Returned units without a stated reason."),
};
const sizeKey = text("Value of the option in lower case; empty = none.");

/** How a product fits, by its sizes. */
export const fit = orNull(
  closed(
    {
      option: text("The option whose values are sizes."),
      sentence: orNull(text("Such as Runs small in M and L; null where the evidence leaves a doubt.")),
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
                description: "What the size runs; null = nothing is certain.",
              }),
            ),
            low_evidence: Type.Boolean({
              description: "Whether fewer than 20 such orders are behind the shares.",
            }),
          },
          { component: "ReportFitSize" },
        ),
        {
          description:
            "In the order of sizes; the reasons' units sum to returned_units. At most the 60 of most sold units.",
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
