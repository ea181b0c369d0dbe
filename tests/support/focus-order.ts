/** What stands above every page of the small store, which is the second workspace of its database. */
const FRAME = [
  "link Skip to content",
  "link Returns Analytics",
  "link shop-2.example",
  "input Search products and SKUs",
  "link Guides",
  "link Onlooker",
  "button Sign out",
  "link Overview",
  "link Report",
  "link Return curves",
  "link Highest rates",
  "link Highest costs",
  "link Products",
  "link Alerts",
  "link Sale events",
  "link Settings",
  // Orders and labels are out of date, and an owner can repair both.
  "link Upload newer files",
  "link Upload newer files",
];

/** The bar of a page that compares months. */
const BAR = [
  "summary Last 12 months",
  "input Months in progress",
  "select Compare with",
  "link Product: all",
  "summary Filters",
  "button Show",
  "summary Copy link",
];

/** The stops of the Tab key on pages of the small store, in their order. */
export const FOCUS_ORDER: Readonly<Record<string, readonly string[]>> = {
  "": [
    ...FRAME,
    ...BAR,
    "input Month",
    "summary The figures as a table",
    "link Download these figures as CSV",
    "summary Get this from the API",
  ],
  "/report": [
    ...FRAME,
    ...BAR,
    "link Overview",
    "link Reasons",
    "link Timing",
    "link Costs",
    "input Month",
    "summary The figures as a table",
    "link Download these figures as CSV",
    "div The costliest, and the rest: together they are the whole selection",
    "link Crème Jacket",
    "link Plain Shirt",
    "link Hat",
    "link Download as CSV",
    "summary Get this from the API",
  ],
};
