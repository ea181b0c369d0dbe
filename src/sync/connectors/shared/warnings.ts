/** What the projection of changed orders found odd, as the rest of a sentence behind a number. */
export const WARNING_TEXTS = {
  refund_exceeds_line: "refunds claim more units than their line has left; the rest counts as money only",
  return_exceeds_line: "returns claim more units than their line has left; the rest is not counted",
  negative_lag: "returns or refunds lie before their order; they count on the day of the order",
  unknown_line: "returns or refunds name lines that their order does not have",
  unusable_image:
    "products have an image address that does not begin with http:// or https://; it is left out",
} as const;
