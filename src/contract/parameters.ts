import Type from "typebox";

const TEXT_LIMIT = 512;

const text = (description: string) =>
  Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: TEXT_LIMIT,
      description,
      "x-allowed": `text of 1 to ${TEXT_LIMIT} characters without control characters`,
    }),
  );

export const INTERVALS = ["month", "week", "day"] as const;

/** The most months of a request by the interval of its rows: the rows must fit an answer. */
export const MAXIMUM_MONTHS_BY_INTERVAL = { month: 120, week: 60, day: 12 } as const;

export const MAXIMUM_MONTHS = MAXIMUM_MONTHS_BY_INTERVAL.month;

const month = (description: string) =>
  Type.String({
    pattern: "^(?!0000)\\d{4}-(0[1-9]|1[0-2])$",
    description,
    "x-allowed": "a month written YYYY-MM, such as 2026-01",
  });

/** The selector family: at most one of SKU, product or product group; none = the whole workspace. */
export const selectorParameters = {
  sku: text("SKU selector, as listed by entities."),
  product_gid: text("Product selector, as listed by entities."),
  store_product_gid: text("Alias of product_gid."),
  shopify_product_gid: text("Alias of product_gid."),
  product_group_type: Type.Optional(
    Type.Enum(["family", "analytics_category"], {
      description: "Kind of product group; goes with product_group_key.",
    }),
  ),
  product_group_key: text("Key of the product group; goes with product_group_type."),
};

/** The line about the selector in a tool's text. */
export const SELECTOR_LINE =
  "Selector: sku, or product_gid, or product_group_type with product_group_key; take it from list_entities. None = the whole store.";
export const SELECTOR_OBJECT_LINE = `${SELECTOR_LINE} Or pass a list_entities row's selector object as selector.`;

export const SELECTOR_NAMES: readonly string[] = Object.keys(selectorParameters);

/** The range of order-cohort months, both ends included, at most 120 months. */
export const monthParameters = {
  start_month: month("First order-cohort month (UTC), YYYY-MM."),
  end_month: month(
    `Last order-cohort month (UTC), YYYY-MM; at most ${MAXIMUM_MONTHS} months from start_month.`,
  ),
};

export const observationWindow = Type.Enum(["primary", "30d", "90d", "lifetime"], {
  default: "primary",
  description: "Observation window: days after the order in which a returned unit counts.",
});

/** The line about cohort months in a tool's text. */
export const COHORT_LINE =
  "Months are order cohorts in UTC, both ends included, at most 120. Default window: primary; months still open in it are left out. " +
  "months_included 0: nothing was counted, so zeros are not results.";

const flag = (description: string) => Type.Boolean({ default: false, description });

export const windowParameters = {
  window: Type.Optional(observationWindow),
  include_incomplete: Type.Optional(flag("Include cohorts whose window is still open.")),
};

export const usedVariantsParameter = {
  include_used_variants: Type.Optional(flag("Add the used variants of the selected product or SKU.")),
};

/** The parameters of every endpoint that answers a selection over cohort months. */
export const cohortParameters = {
  ...selectorParameters,
  vendor: text("Exact vendor name: counts only what is that vendor's, alone or within a selector."),
  ...monthParameters,
  ...windowParameters,
  ...usedVariantsParameter,
};

const { week: MOST_OF_WEEKS, day: MOST_OF_DAYS } = MAXIMUM_MONTHS_BY_INTERVAL;

export const intervalParameter = {
  interval: Type.Optional(
    Type.Enum([...INTERVALS], {
      default: "month",
      description:
        `Orders of one row: a month; a week from Monday, split at the end of a month (at most ${MOST_OF_WEEKS} months); ` +
        `or a day (at most ${MOST_OF_DAYS}).`,
    }),
  ),
};

export const vendorParameter = { vendor: text("Exact vendor name; filters the rows.") };

export const cursorParameter = {
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4096,
      description: "meta.next_cursor of the previous page, passed back verbatim.",
      "x-allowed": "a meta.next_cursor of this service",
    }),
  ),
};

/** The names of the specification's shared parameters: known everywhere, ignored where they mean nothing. */
export const SHARED_PARAMETERS: readonly string[] = Object.keys({
  ...cohortParameters,
  ...vendorParameter,
  ...cursorParameter,
});

/** Compatibility names that endpoints still accept; they are not suggested or listed, because one name is enough. */
export const ALIASES: ReadonlySet<string> = new Set(["store_product_gid", "shopify_product_gid"]);

/** Of endpoints whose rows have members that a reader can do without. */
export const fieldsParameter = (defaultFields: "all" | "required") => ({
  fields: Type.Optional(
    Type.Enum(["all", "required"], {
      default: defaultFields,
      description: "Members of a row: all, or only those that every row must have, for short answers.",
    }),
  ),
});

/** `limit` from 1 to `maximum`. */
export const limitParameter = (maximum: number, defaultLimit: number) => ({
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum,
      default: defaultLimit,
      description: `Rows to return, 1 to ${maximum}.`,
    }),
  ),
});

/** The state of the report view: unknown values fall back to the default. */
export const reportStateParameters = {
  saleEvent: Type.Optional(
    Type.String({
      maxLength: TEXT_LIMIT,
      description:
        "Slug of a sale event, as sale_events of any report lists them; an unknown one is ignored.",
      "x-normalized": true,
      // No event has this slug: an unreadable one is as unknown as any other.
      "x-unreadable": "",
    }),
  ),
  saleEventBaseline: Type.Optional(
    Type.Enum(["matched_prior", "selected_non_sale", "prior_year"], {
      default: "matched_prior",
      description: "What the sale event is compared with.",
      "x-normalized": true,
    }),
  ),
  saleEventScope: Type.Optional(
    Type.Enum(["current_selection", "event_scope"], {
      default: "current_selection",
      description: "Whether the sale event's figures cover the request's selection or the event's own SKUs.",
      "x-normalized": true,
    }),
  ),
};

export const REPORT_SECTIONS = [
  "overview",
  "trend",
  "reasons",
  "refunds",
  "timing",
  "lifecycle",
  "costs",
  "curves",
  "breakdown",
  "outcomes",
  "bridge",
  "liability",
  "fit",
] as const;

export const BREAKDOWNS = ["vendor", "product", "sku", "family", "analytics_category"] as const;
/** Prefix of a breakdown by a variant option; the option's name follows. */
export const OPTION_PREFIX = "option:";

/** The sort orders of a breakdown's rows. */
export const BREAKDOWN_ORDERS = [
  "returns_cost",
  "excess_return_cost",
  "returned_units",
  "sold_units",
  "return_rate",
  "return_rate_change",
] as const;

export const breakdownParameter = {
  breakdownBy: Type.Optional(
    Type.String({
      pattern: `^(${BREAKDOWNS.join("|")}|${OPTION_PREFIX}\\s*\\S.*)$`,
      maxLength: TEXT_LIMIT,
      description:
        `What the section breakdown divides the selection by: ${BREAKDOWNS.join(", ")}, or ${OPTION_PREFIX}<name> for an option ` +
        `of variants, such as ${OPTION_PREFIX}size; product, unless one is given. An export has that section when one is given; ` +
        "unknown values count as none.",
      "x-allowed": `one of ${BREAKDOWNS.join(", ")}, or ${OPTION_PREFIX}<name> with the name of an option, such as ${OPTION_PREFIX}size`,
      "x-normalized": true,
      "x-names": [...BREAKDOWNS],
    }),
  ),
  breakdownOrder: Type.Optional(
    Type.Enum([...BREAKDOWN_ORDERS], {
      description:
        "How a breakdown is ordered: its 20 largest rows are listed. By rate and change, rows below the workspace's " +
        "min_sold_units come last. returns_cost, unless one is given; of an option then the 20 that sold most, in the order of sizes.",
      "x-normalized": true,
    }),
  ),
};

export const reportSectionParameter = {
  reportSection: Type.Optional(
    Type.Enum([...REPORT_SECTIONS], {
      default: "overview",
      description:
        "Part of the report to return; unknown values mean overview, which holds everything but curves, breakdown, outcomes, bridge, liability and fit.",
      "x-normalized": true,
    }),
  ),
};
