import { listParameters } from "./endpoint.ts";
import type { Endpoint, Parameter, ParameterSchema, ToolText } from "./endpoint.ts";
import { entitySelector } from "./entities.ts";
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
  "get_summary: one rate. get_timeseries: by month, week or day; which are final. get_report: why, how fast, cost, outlook, refunds to come, sizes, sale events. " +
    "get_return_rate_leaderboard, get_return_cost_leaderboard: worst SKUs. list_alerts: what changed, and what is wrong right now.",
  "No tool exports: CSV is GET /api/v1/export/report.csv with a token of scope read:exports, where the plan has data_export.",
  "meta.freshness tells how old the data is. Each tools/call counts against a daily quota (UTC). An error names every bad argument and what is allowed.",
].join("\n");

/** The forms of a selector object, as the rows of list_entities carry it. */
export const SELECTOR_SHAPES: readonly (readonly string[])[] = entitySelector.anyOf.map(({ properties }) =>
  Object.keys(properties),
);

const ANNOTATIONS = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const;

const SELECTOR_SCHEMA = {
  type: "object",
  description:
    "The selector object of a list_entities or breakdown row, instead of the flat selector arguments: sku, or product_gid, or " +
    "product_group_type with product_group_key.",
  properties: {
    sku: { type: "string" },
    product_gid: { type: "string" },
    product_group_type: { type: "string", enum: ["family", "analytics_category"] },
    product_group_key: { type: "string" },
    vendor: { type: "string" },
    include_used_variants: { type: "boolean" },
  },
  additionalProperties: false,
};

/** Every tool, in the order of the registry. */
export const TOOLS: readonly Tool[] = (ENDPOINTS as readonly Endpoint[]).flatMap(({ tool, parameters }) =>
  tool === null ? [] : [describeTool(tool, listParameters(parameters))],
);

function describeTool({ name, title, lines, ...options }: ToolText, parameters: readonly Parameter[]): Tool {
  const listed = parameters.filter((parameter) => !ALIASES.has(parameter.name));
  const flat = listed.map((parameter) => [parameter.name, argumentSchema(parameter.schema)]);
  const selector = options.listsSelectorObject === true ? { selector: SELECTOR_SCHEMA } : {};
  return {
    name,
    title,
    description: lines.join("\n"),
    inputSchema: {
      type: "object",
      properties: { ...selector, ...Object.fromEntries(flat) },
      required: listed.flatMap((parameter) => (parameter.isRequired ? [parameter.name] : [])),
      additionalProperties: false,
    },
    annotations: { title, ...ANNOTATIONS },
  };
}

/** A parameter's schema without what providers differ on; its bounds and default are stated in words too. */
function argumentSchema(schema: ParameterSchema): Record<string, unknown> {
  const { format, minimum, pattern, "x-tool-enum": toolValues, description = "" } = schema;
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
  const sentence = description.replace("as listed by entities", "as listed by list_entities");
  const bounds = sentence.includes(`${minimum} to ${maximum}`) ? "" : boundsText(minimum, maximum);
  return {
    type: values === undefined ? schema.type : "string",
    description: sentence + bounds + defaultText(schema.default),
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
