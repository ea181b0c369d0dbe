/** The shop's reasons, in the platform's vocabulary, with one of the shop's own that was deleted since. */
export const REASONS = [
  { handle: "size-too-small", name: "Size was too small", legacy: "SIZE_TOO_SMALL", deleted: false },
  { handle: "size-too-large", name: "Size was too large", legacy: "SIZE_TOO_LARGE", deleted: false },
  { handle: "unwanted", name: "Customer changed their mind", legacy: "UNWANTED", deleted: false },
  { handle: "not-as-described", name: "Item not as described", legacy: "NOT_AS_DESCRIBED", deleted: false },
  { handle: "wrong-item", name: "Received the wrong item", legacy: "WRONG_ITEM", deleted: false },
  { handle: "defective", name: "Damaged or defective", legacy: "DEFECTIVE", deleted: false },
  { handle: "style", name: "Style", legacy: "STYLE", deleted: false },
  { handle: "color", name: "Color", legacy: "COLOR", deleted: false },
  { handle: "other", name: "Other", legacy: "OTHER", deleted: false },
  { handle: "arrived-after-the-party", name: "Arrived after the party", legacy: "OTHER", deleted: true },
] as const;
