import type { Static, TObject, TSchema } from "typebox";

export type Scope = "read:dashboard" | "read:reports" | "read:exports" | "read:alerts";
export const SCOPES: readonly Scope[] = ["read:dashboard", "read:reports", "read:exports", "read:alerts"];

export type Entitlement = "api_access" | "data_export" | "full_leaderboards";
export const ENTITLEMENTS: readonly Entitlement[] = ["api_access", "data_export", "full_leaderboards"];

/** One endpoint of the contract: everything that the surfaces (REST, MCP, OpenAPI, client) loop over. */
export type Endpoint<
  Parameters extends TObject = TObject,
  Response extends TSchema | null = TSchema | null,
> = {
  /** The name in every layer: file, endpoint, query, test. */
  name: string;
  path: `/api/v1/${string}`;
  scope: Scope;
  entitlements: readonly Entitlement[];
  summary: string;
  description: string;
  parameters: Parameters;
  /** Names that REST takes and ignores, beside the shared parameters: those of an endpoint with the same state. */
  ignores?: readonly string[];
  /** Schema of the JSON body; null = CSV. */
  response: Response;
  /** The MCP tool that wraps it; null = none. */
  toolName: string | null;
};

/** The validated input of an endpoint, in the wire's names. */
export type Input<E extends Endpoint> = Static<E["parameters"]>;

/** Keeps the literal types of an endpoint's schemas. */
export function defineEndpoint<Parameters extends TObject, Response extends TSchema | null>(
  endpoint: Endpoint<Parameters, Response>,
): Endpoint<Parameters, Response> {
  return endpoint;
}
