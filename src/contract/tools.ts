import type { Endpoint } from "./endpoint.ts";
import { ALIASES } from "./parameters.ts";
import { ENDPOINTS } from "./registry.ts";

/** A tool as tools/list shows it. */
export type Tool = {
  name: string;
  title: string;
  description: string;
  inputSchema: ArgumentsSchema;
  annotations: typeof ANNOTATIONS & { title: string };
};

/** Plain, flat JSON Schema: what every client and every model's provider reads alike. */
export type ArgumentsSchema = {
  type: "object";
  properties: Record<string, Record<string, unknown>>;
  required: string[];
  additionalProperties: false;
};

export const SERVER_TITLE = "Returns Analytics";

/** For a client's model, before it has seen the tools; at most 1 kB. */
export const INSTRUCTIONS = [
  "Return rates, reasons and costs of one store, read-only.",
  "Months are order cohorts, YYYY-MM in UTC: a return counts in its order's month, if it came within the window (30d, 90d, " +
    "primary = the workspace's own, lifetime). Rates are 0–1 fractions.",
  "A month is final once its window has closed for all its orders. Until then it looks too good and is left out, unless include_incomplete is true.",
  "list_entities turns names into selectors; no selector means the whole store.",
  "get_summary: one rate. get_timeseries: by month, and whether each is final. get_report: why, how fast, cost per month, sale events. " +
    "get_return_rate_leaderboard, get_return_cost_leaderboard: worst SKUs. list_alerts: what changed, and what goes wrong right now.",
  "No tool exports: CSV is GET /api/v1/export/report.csv with a token of scope read:exports, where the plan has data_export.",
  "meta.freshness tells the data's age. Each tools/call counts against a daily quota (UTC). An error names every bad argument and what is allowed.",
].join("\n");

/** The forms of a selector object, as the rows of list_entities carry it. */
export const SELECTOR_SHAPES: readonly (readonly string[])[] = [
  ["sku"],
  ["product_gid"],
  ["product_group_type", "product_group_key"],
];

/** Whether a tool also takes its selector as one object. */
function takesSelectorObject(endpoint: Endpoint): boolean {
  return endpoint.toolName === "get_report" || endpoint.toolName === "get_timeseries";
}

const ANNOTATIONS = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const;

type ToolText = { title: string; lines: readonly string[] };

const SELECTOR_LINE =
  "Selector: sku, or product_gid, or product_group_type with product_group_key; take it from list_entities. None = the whole store.";
const SELECTOR_OBJECT_LINE = `${SELECTOR_LINE} Or pass a list_entities row's selector object as selector.`;
const COHORT_LINE =
  "Months are order cohorts in UTC, both ends included, at most 120. Default window: primary; months still open in it are left out. " +
  "months_included 0: nothing was counted, so zeros are no results.";

const TEXTS: Readonly<Record<string, ToolText>> = {
  list_entities: {
    title: "List SKUs, products and groups",
    lines: [
      "Returns SKUs, products and product groups with the selector that names each of them in the other tools.",
      "Use it first, to turn a name into a selector; for the worst SKUs use get_return_rate_leaderboard instead.",
      "With q: the best matches on one page, groups and products named so before SKUs. Without q: all, by pages (meta.next_cursor as cursor).",
      "Default: all types, limit 20 (1 to 100); a row takes some 300 bytes. type product or product_group keeps SKUs out.",
      'Example: {"q": "lamp", "type": "product", "limit": 5}',
    ],
  },
  get_summary: {
    title: "Get a return rate",
    lines: [
      "Returns sold_units, returned_units and return_rate (a 0–1 fraction) of one selection over a range of months.",
      "Use it for a single figure, or one call for each of the things to compare; by month use get_timeseries, for reasons and costs get_report.",
      SELECTOR_LINE,
      COHORT_LINE,
      "A product or SKU counts its new variants; include_used_variants adds the used ones.",
      'Example: {"sku": "LAMP-01", "start_month": "2026-01", "end_month": "2026-03", "window": "90d"}',
    ],
  },
  get_report: {
    title: "Get the returns report",
    lines: [
      "Returns the full picture: rate with interval, months before, trend with cost per month, reasons, days to return, costs, sale events.",
      "Use it to explain returns; for one figure use get_summary, for monthly rates alone get_timeseries. sale_events lists what saleEvent takes.",
      "reportSection narrows some 5 kB to 1 to 3 kB: reasons (why), trend (rate and cost by month), breakdown with breakdownBy (worst vendor, product, SKU, group).",
      SELECTOR_OBJECT_LINE,
      COHORT_LINE,
      'Example: {"selector": {"product_gid": "gid://shopify/Product/1"}, "start_month": "2026-01", "end_month": "2026-06"}',
    ],
  },
  get_timeseries: {
    title: "Get monthly return rates",
    lines: [
      "Returns one row per month: sold_units, returned_units, return_rate (a 0–1 fraction) and is_complete.",
      "Use it for a trend; for the total of the range use get_summary, for reasons and costs get_report.",
      "To see whether a month is final, ask for it with include_incomplete: is_complete is false while its window is open.",
      SELECTOR_OBJECT_LINE,
      COHORT_LINE,
      'Example: {"selector": {"sku": "LAMP-01"}, "start_month": "2025-01", "end_month": "2025-12"}',
    ],
  },
  get_return_rate_leaderboard: {
    title: "Rank SKUs by return rate",
    lines: [
      "Returns SKUs by highest return rate over the latest complete month or year, in the workspace's primary window.",
      "Use it to find problem SKUs: month shows a sudden one such as a bad batch, year the lasting ones. For cost use get_return_cost_leaderboard.",
      "SKUs with few sales are left out (data.min_sold_units). Default: period year, limit 10 (1 to 500); the plan may show fewer.",
      "A row takes some 450 bytes. Months are order cohorts in UTC; months_included 0: no month is complete yet. A selector narrows it to its SKUs; take it from list_entities.",
      'Example: {"period": "month", "limit": 10, "min_return_rate": 0.2}',
    ],
  },
  get_return_cost_leaderboard: {
    title: "Rank SKUs by returns cost",
    lines: [
      "Returns SKUs by highest returns cost (refunds without tax, plus return labels where known) over a range of months.",
      "Use it for where returns cost most; for the highest rates use get_return_rate_leaderboard, for cost per month get_report.",
      "Amounts are in data.currency_code. Default: limit 10 (1 to 100); a row takes some 600 bytes.",
      "A selector narrows it to its SKUs; take it from list_entities.",
      COHORT_LINE,
      'Example: {"start_month": "2026-01", "end_month": "2026-06", "limit": 10}',
    ],
  },
  list_alerts: {
    title: "List alerts",
    lines: [
      "Returns the workspace's alerts, newest first: early warnings and spikes of return rates, finished imports, stale connections, ready reports.",
      "Is anything going wrong with returns right now? category return_rate_watchlist: metadata.kind early_warning is a batch of recent orders, month a whole order month; the body says how many, why, and which report to request.",
      "Use it to see what changed; to look into one, take the selector in its metadata to get_report or get_timeseries.",
      "since is an inclusive floor on created_at (with Z or an offset). Default limit 50 (1 to 100); older ones follow meta.next_cursor.",
      'Example: {"since": "2026-06-01T00:00:00Z", "category": "return_rate_watchlist"}',
    ],
  },
};

const SELECTOR_SCHEMA = {
  type: "object",
  description:
    "The selector object of a list_entities row, instead of the flat selector arguments: sku, or product_gid, or " +
    "product_group_type with product_group_key.",
  properties: {
    sku: { type: "string" },
    product_gid: { type: "string" },
    product_group_type: { type: "string", enum: ["family", "analytics_category"] },
    product_group_key: { type: "string" },
  },
  additionalProperties: false,
};

/** Every tool, in the order of the registry. */
export const TOOLS: readonly Tool[] = (ENDPOINTS as readonly Endpoint[]).flatMap((endpoint) =>
  endpoint.toolName === null ? [] : [describeTool(endpoint.toolName, endpoint)],
);

function describeTool(name: string, endpoint: Endpoint): Tool {
  const text = TEXTS[name];
  if (text === undefined) throw new Error(`The tool ${name} has no description.`);
  return {
    name,
    title: text.title,
    description: text.lines.join("\n"),
    inputSchema: argumentsSchema(endpoint),
    annotations: { title: text.title, ...ANNOTATIONS },
  };
}

function argumentsSchema(endpoint: Endpoint): ArgumentsSchema {
  const properties: ArgumentsSchema["properties"] = takesSelectorObject(endpoint)
    ? { selector: SELECTOR_SCHEMA }
    : {};
  for (const [name, schema] of Object.entries(endpoint.parameters.properties)) {
    if (!ALIASES.has(name)) properties[name] = argumentSchema(schema);
  }
  const required = (endpoint.parameters.required as string[] | undefined) ?? [];
  return { type: "object", properties, required, additionalProperties: false };
}

/** The members of a parameter's schema that a tool's keeps. */
type ParameterSchema = {
  type?: string;
  description?: string;
  enum?: string[];
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  default?: string | number | boolean;
  "x-tool-enum"?: string[];
};

/** A parameter's schema without what providers differ on; its bounds and default are said in words too. */
function argumentSchema(schema: ParameterSchema): Record<string, unknown> {
  const { format, minimum, pattern, "x-tool-enum": toolValues } = schema;
  const values = schema.enum ?? toolValues;
  const maximum = schema.maximum === Number.MAX_SAFE_INTEGER ? undefined : schema.maximum;
  const facets = {
    enum: values,
    format: format === "date-time" ? format : undefined,
    // RE2, which many clients use, has no lookahead.
    pattern: pattern?.replaceAll(/\(\?!\w+\)/gu, ""),
    minimum,
    maximum,
    default: schema.default,
  };
  // The endpoint that lists selectors has another name here.
  const said = (schema.description ?? "").replace("as listed by entities", "as listed by list_entities");
  const bounds = said.includes(`${minimum} to ${maximum}`) ? "" : boundsText(minimum, maximum);
  return {
    type: values === undefined ? schema.type : "string",
    description: said + bounds + defaultText(schema.default),
    ...Object.fromEntries(Object.entries(facets).filter(([, facet]) => facet !== undefined)),
  };
}

function boundsText(minimum: number | undefined, maximum: number | undefined): string {
  if (minimum === undefined) return "";
  return maximum === undefined ? ` At least ${minimum}.` : ` From ${minimum} to ${maximum}.`;
}

function defaultText(value: string | number | boolean | undefined): string {
  return value === undefined ? "" : ` Default: ${value}.`;
}
