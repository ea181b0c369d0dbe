import { camelCase, isPaged, listParameters } from "../contract/endpoint.ts";
import type { Endpoint, Parameter } from "../contract/endpoint.ts";
import { ENDPOINTS as CONTRACT } from "../contract/registry.ts";

/** An endpoint for a surface that asks people for its parameters, and shows them its answer. */
export type EndpointOptions = Pick<Endpoint, "name" | "summary" | "scope"> & {
  /** The client's method, such as `returnRateLeaderboard`. */
  method: string;
  isPaged: boolean;
  isCsv: boolean;
  parameters: readonly Parameter[];
  /** The members of a row of its list, or of its data when that is one thing; none for a CSV file. */
  fields: readonly string[];
};

/** Every endpoint as the contract describes it. Not part of the package: schemas are no code for a bundle. */
export function listEndpointOptions(): EndpointOptions[] {
  return CONTRACT.map((endpoint: Endpoint) => ({
    name: endpoint.name,
    summary: endpoint.summary,
    scope: endpoint.scope,
    method: camelCase(endpoint.name),
    isPaged: isPaged(endpoint),
    isCsv: endpoint.response === null,
    parameters: listParameters(endpoint.parameters),
    fields: endpoint.response === null ? [] : fieldsOf(endpoint.response as BodySchema),
  }));
}

type DataSchema = { properties?: Record<string, DataSchema>; items?: DataSchema };
type BodySchema = { properties: { data: DataSchema } };

function fieldsOf({ properties: { data } }: BodySchema): string[] {
  const row = data.items ?? data.properties?.["rows"]?.items ?? data;
  return Object.keys(row.properties ?? {});
}
