import type { Endpoint } from "../contract/endpoint.ts";
import { ENDPOINTS as CONTRACT } from "../contract/registry.ts";

/** One parameter of an endpoint, for a surface that asks people for it. */
export type EndpointParameter = {
  /** As the API has it, such as `start_month`. */
  name: string;
  kind: "text" | "number" | "boolean";
  isRequired: boolean;
  /** The only values there are; null = any of its kind. */
  values: readonly string[] | null;
  /** As written in a query; null = none. */
  defaultText: string | null;
  description: string;
  /** The highest number; null = none. */
  maximum: number | null;
};

export type EndpointOptions = {
  /** Such as `return-rate-leaderboard`. */
  name: string;
  /** The client's method, such as `returnRateLeaderboard`. */
  method: string;
  summary: string;
  description: string;
  scope: string;
  isPaged: boolean;
  isCsv: boolean;
  parameters: readonly EndpointParameter[];
  /** The members of a row of its list, or of its data when that is one thing; none for a CSV file. */
  fields: readonly string[];
};

/** Every endpoint as the contract describes it. Not part of the package: schemas are no code for a bundle. */
export function listEndpointOptions(): EndpointOptions[] {
  return CONTRACT.map((endpoint: Endpoint) => {
    const { properties } = endpoint.parameters;
    const required = (endpoint.parameters.required as string[] | undefined) ?? [];
    return {
      name: endpoint.name,
      method: endpoint.name.replaceAll(/-(.)/gu, (_, letter: string) => letter.toUpperCase()),
      summary: endpoint.summary,
      description: endpoint.description,
      scope: endpoint.scope,
      isPaged: "cursor" in properties,
      isCsv: endpoint.response === null,
      parameters: Object.entries(properties).map(([name, schema]) =>
        parameterOf(name, schema, required.includes(name)),
      ),
      fields: endpoint.response === null ? [] : fieldsOf(endpoint.response as BodySchema),
    };
  });
}

type DataSchema = { properties?: Record<string, DataSchema>; items?: DataSchema };
type BodySchema = { properties: { data: DataSchema } };

function fieldsOf({ properties: { data } }: BodySchema): string[] {
  const row = data.items ?? data.properties?.["rows"]?.items ?? data;
  return Object.keys(row.properties ?? {});
}

type ParameterSchema = {
  type?: string;
  enum?: readonly string[];
  default?: string | number | boolean;
  description?: string;
  maximum?: number;
};

function parameterOf(name: string, schema: ParameterSchema, isRequired: boolean): EndpointParameter {
  const isNumber = schema.type === "integer" || schema.type === "number";
  const plainKind = isNumber ? "number" : "text";
  return {
    name,
    kind: schema.type === "boolean" ? "boolean" : plainKind,
    isRequired,
    values: schema.enum ?? null,
    defaultText: schema.default === undefined ? null : String(schema.default),
    description: schema.description ?? "",
    maximum: schema.maximum ?? null,
  };
}
