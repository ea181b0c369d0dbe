import { pascalCase, type Endpoint } from "../contract/endpoint.ts";
import { ENDPOINTS } from "../contract/registry.ts";

/**
 * Descriptions of fields common to many answers, or whose schema is a separate component. A name has the same meaning everywhere;
 * otherwise the schema's name is added. All others are described in their schemas.
 */
const FIELDS: Readonly<Record<string, string>> = {
  data: "The answer itself.",
  meta: "What the answer is about: workspace, the request as it was interpreted, and how fresh the data is.",
  api_version: "Version of the contract.",
  organization_id: "Organization that the token belongs to.",
  shop_id: "Shop that the token belongs to.",
  shop_domain: "The shop's domain.",
  freshness: "How fresh the data is; null when it is unknown.",
  data_updated_at:
    "Latest successful sync of any connected source, label sources included; data_as_of is the as-of of the figures.",
  sources: "Each connected source.",

  selector: "The selection that the figures are about, as resolved.",
  "PublicEntity.selector":
    "Parameters that select this entity in the other endpoints, to be passed back as they are.",
  sku: "SKU.",
  skus: "Every SKU that was counted or that the catalogue lists, used variants included if asked for.",
  "Selector.type": "Kind of selection; workspace when no selector was given.",
  label: "Name to show.",
  product_gid: "Id of the product.",
  store_product_gid: "Id of the product.",
  shopify_product_gid: "Id of the product, the same as store_product_gid.",
  product_title: "Title of the product.",
  product_image_url: "Image of the SKU's variant, else of its product.",
  product_image_alt_text: "What the image shows.",
  handle: "The product's handle in the store.",
  vendor: "Vendor.",
  product_group_type: "Kind of product group.",
  product_group_key: "Key of the product group.",

  start_month: "First order-cohort month.",
  end_month: "Last order-cohort month.",
  window: "Observation window.",
  include_incomplete: "Whether cohorts whose window is still open are included.",
  complete_through:
    "Newest complete month for the window, whatever the range; null for lifetime, and when no month is complete.",
  limit: "The limit that was applied.",
  filters: "The filters that were applied.",
  vendor_known: "Whether this workspace has ever had the requested vendor; null if none was requested.",
  totals: "The sum of all rows that pass the filters, shown or not.",
  full_leaderboards: "Whether the plan may see the whole ranking.",
  returned: "Rows in this answer.",
  next_cursor: "Pass it back as cursor for the next page; null when there is none.",

  outlook: "Estimate of the rate when the window has closed; null where there is none.",

  rows: "The rows, in order.",
  cohort_month: "Order-cohort month, YYYY-MM-01.",
  sold_units: "Units sold in the cohort months: the denominator.",
  returned_units: "Units of those cohorts that came back within the window: the numerator.",
  total_eligible_count:
    "Rows of the whole ranking that pass the filters, before the limit and the plan's clamp.",
  currency_code: "Currency of all amounts, ISO 4217.",
  total_cost_amount: "Returns cost: refunds without tax, plus return labels when label_costs_included.",
  total_refunded_amount: "Refunded merchandise, without tax.",
  total_return_label_cost: "Return labels; 0 unless label_costs_included.",
  label_costs_included: "Whether the costs of return labels are known and included.",
  refunded_units: "Units that were refunded within the window.",
  cogs_coverage: "Whole percent of the returned units whose unit cost is known.",

  window_days: "Length of the window in days; null for lifetime.",
  summary: "The figures of all months together.",
  comparison: "The same figures of as many complete months before.",
  trend: "The figures month by month.",
  return_reasons: "Returned units by reason, largest first; a missing reason has a kind that says why.",
  refunds: "How refunds and returns overlap.",
  timing_buckets: "Returned units by days from order to return; buckets beyond the window hold zeros.",
  lifecycle_coverage: "Return requests by state, and how much is known of the returned units.",
  costs: "What the returns cost.",
  return_curves: "The return curve of every month of the range, oldest first.",
  pooled_return_curve:
    "The return curve of all months together: each age over the months that are complete at it.",
  outcomes: "How the returned units ended.",
  fit: "How a product fits, by its sizes; of a size whether it runs small or large, null without clear evidence.",
  too_small: "Share of the size's returns that were too small; null for no value.",
  too_large: "Share of the size's returns that were too large; null for no value.",
  liability: "Refunds still to come for what is sold already; null where there is no outlook.",
  bridge: "From what the source itself books as taken back to the returned units.",
  sale_event: "The sale event against its baseline.",
  sale_events: "Every sale event of the workspace, by slug: what saleEvent takes.",
  return_rate_interval:
    "95 % Wilson interval of the rate, with orders as clusters; null when nothing was sold.",
  starts_on: "First day.",
  ends_on: "Last day.",
  event: "The figures of its days.",
  baseline_period: "The figures of the days it is compared with.",
};

/** The sentence for a field of a component, or undefined. */
function describeField(component: string, name: string): string | undefined {
  return FIELDS[`${component}.${name}`] ?? FIELDS[name];
}

export type JsonMembers = { [member: string]: unknown };

/** The parts of a JSON Schema that the document uses; the rest is passed on. */
export type JsonSchema = JsonMembers & {
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  anyOf?: JsonSchema[];
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  patternProperties?: Record<string, JsonSchema>;
  pattern?: string;
  /** Under this name every other place refers to it. */
  "x-component"?: string;
};

/** The schemas of the contract's answers as components, each named once and referred to everywhere else. */
export function responseSchemas(): Record<string, JsonSchema> {
  const components = new Map<string, JsonSchema>();
  for (const schema of RESPONSES.values()) collectNamed(schema, components);
  for (const [name, schema] of RESPONSES) {
    components.set(`${name}Meta`, metaOf(schema)).set(`${name}Response`, schema);
  }
  return Object.fromEntries(
    [...components].map(([component, schema]) => [component, written(schema, component)]),
  );
}

/** The schemas of JSON bodies, by the prefix of their components. */
const RESPONSES: ReadonlyMap<string, JsonSchema> = new Map(
  (ENDPOINTS as readonly Endpoint[]).flatMap(({ name, response }) =>
    response === null ? [] : [[pascalCase(name), response as JsonSchema]],
  ),
);

const META_NAMES: ReadonlyMap<JsonSchema, string> = new Map(
  [...RESPONSES].map(([name, schema]) => [metaOf(schema), `${name}Meta`]),
);

function metaOf(response: JsonSchema): JsonSchema {
  return response.properties?.["meta"] as JsonSchema;
}

/** Adds the schemas that the contract names, in reading order. */
function collectNamed(schema: JsonSchema, components: Map<string, JsonSchema>): void {
  const { "x-component": name, anyOf = [], items, properties = {} } = schema;
  if (name !== undefined) {
    const known = components.get(name) ?? schema;
    if (JSON.stringify(known) !== JSON.stringify(schema)) throw new Error(`Two schemas are named ${name}.`);
    components.set(name, known);
  }
  const inner = [...anyOf, ...(items === undefined ? [] : [items]), ...Object.values(properties)];
  for (const member of inner) collectNamed(member, components);
}

/** A schema in OpenAPI 3.1: enums typed, null as a type, without internal members, with patterns that RE2 supports. */
export function plainSchema(schema: JsonSchema): JsonSchema {
  return written(schema, "");
}

/** A schema within a component: a reference where it is one itself. */
function convert(schema: JsonSchema, component: string): JsonSchema {
  const name = META_NAMES.get(schema) ?? schema["x-component"];
  return name === undefined ? written(schema, component) : { $ref: `#/components/schemas/${name}` };
}

function written(schema: JsonSchema, component: string): JsonSchema {
  if (schema.anyOf !== undefined) return writtenUnion(schema, schema.anyOf, component);
  const { properties, items, pattern, patternProperties, ...rest } = schema;
  if (patternProperties !== undefined) return { ...publicMembers(rest), additionalProperties: true };
  return {
    ...(rest.enum === undefined ? {} : { type: "string" }),
    ...publicMembers(rest),
    ...(pattern === undefined ? {} : { pattern: pattern.replaceAll(/\(\?!\w+\)/gu, "") }),
    ...(items === undefined ? {} : { items: convert(items, component) }),
    ...(properties === undefined ? {} : { properties: convertProperties(properties, component) }),
  };
}

function writtenUnion(schema: JsonSchema, members: JsonSchema[], component: string): JsonSchema {
  const [only, ...others] = members
    .filter((member) => member.type !== "null")
    .map((member) => convert(member, component));
  if (others.length > 0) return { ...publicMembers(schema), oneOf: [only, ...others] };
  const { description, ...rest } = only ?? {};
  const words = description === undefined ? {} : { description };
  if (rest["$ref"] !== undefined) return { oneOf: [rest, { type: "null" }] };
  const type = [rest.type as string, "null"];
  return { ...rest, type, ...(rest.enum === undefined ? {} : { enum: [...rest.enum, null] }), ...words };
}

function convertProperties(
  properties: Record<string, JsonSchema>,
  component: string,
): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => {
      const converted = convert(property, component);
      const description = converted.description ?? describeField(component, name);
      return [name, description === undefined ? converted : { ...converted, description }];
    }),
  );
}

/** A member that begins with x- is a note of the contract to itself. */
function publicMembers(schema: JsonSchema): JsonSchema {
  const { anyOf: _union, ...rest } = schema;
  return Object.fromEntries(Object.entries(rest).filter(([name]) => !name.startsWith("x-")));
}
