import type { Static, TObject, TSchema } from "typebox";

export const SCOPES = ["read:dashboard", "read:reports", "read:exports", "read:alerts"] as const;
export type Scope = (typeof SCOPES)[number];

export const ENTITLEMENTS = ["api_access", "data_export", "full_leaderboards"] as const;
export type Entitlement = (typeof ENTITLEMENTS)[number];

/** Groups of endpoints in the OpenAPI document, in its order. */
export const TAGS = {
  Alerts: "What changed in the workspace, newest first.",
  Catalogue: "SKUs, products and product groups: the selectors for the rest.",
  Export: "The report and the tables behind it, as files.",
  Leaderboards: "SKUs by return rate and by what their returns cost.",
  MCP: "The same data as tools for AI agents.",
  "Return rates": "Return rates of a selection over order-cohort months.",
} as const;

/** The MCP tool that wraps an endpoint, in the words for a client's model. */
export type ToolText = {
  name: string;
  title: string;
  /** Its result, when to use it and alternatives, defaults, an example. */
  lines: readonly string[];
  /** Its schema also lists a selector as one object; every tool with a selector takes one. */
  listsSelectorObject?: boolean;
};

/** One endpoint of the contract: everything that the surfaces (REST, MCP, OpenAPI, client, docs) loop over. */
export type Endpoint<
  Name extends string = string,
  Parameters extends TObject = TObject,
  Response extends TSchema | null = TSchema | null,
> = {
  /** The name in every layer: file, handler, query, test, command, client method. */
  name: Name;
  /** A name in braces is a parameter with listed values. */
  path: `/api/v1/${string}`;
  scope: Scope;
  entitlements: readonly Entitlement[];
  tag: keyof typeof TAGS;
  summary: string;
  description: string;
  parameters: Parameters;
  /** Names that REST accepts and ignores, in addition to the shared parameters: those of an endpoint with the same state. */
  ignores?: readonly string[];
  /** Schema of the JSON body; null = a file. */
  response: Response;
  /** Content types of the file; default: CSV. */
  fileTypes?: readonly string[];
  /** The query whose answer from the demo store is the document's example. */
  example: string;
  /** null = no tool wraps it. */
  tool: ToolText | null;
};

/** The validated input of an endpoint, in the wire's names; `normalized` names parameters whose value was not allowed and fell back. */
export type Input<E extends Endpoint> = Static<E["parameters"]> & {
  normalized?: readonly string[];
  /** A tool's value that only the data can identify as unknown is refused where REST falls back. */
  isTool?: true;
};

/** Keeps the literal types of an endpoint's name and schemas. */
export function defineEndpoint<
  const Name extends string,
  Parameters extends TObject,
  Response extends TSchema | null,
>(endpoint: Endpoint<Name, Parameters, Response>): Endpoint<Name, Parameters, Response> {
  return endpoint;
}

/** The members of JSON Schema that parameters use. */
export type ParameterSchema = TSchema & {
  type?: string;
  description?: string;
  enum?: string[];
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  default?: string | number | boolean;
  /** The end of the sentence "<name> must be …". */
  "x-allowed"?: string;
  /** A value that is not allowed falls back to `x-unreadable`, else to the default, instead of being refused. */
  "x-normalized"?: boolean;
  "x-unreadable"?: unknown;
  /** The values that are named one by one, where there are others, too. */
  "x-names"?: string[];
  /** The values that a tool takes where REST takes any text. */
  "x-tool-enum"?: string[];
  /** The most characters of the text as a search folds it. */
  "x-folded-length"?: number;
};

export type Parameter = { name: string; schema: ParameterSchema; isRequired: boolean };

/** The parameters of a schema, in its order. */
export function listParameters({ properties, required }: TObject): Parameter[] {
  const names = new Set(required as string[] | undefined);
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    schema: schema as ParameterSchema,
    isRequired: names.has(name),
  }));
}

const PATH_NAME = /\{(\w+)\}/gu;

export function pathNames(path: string): string[] {
  return [...path.matchAll(PATH_NAME)].map(([, name]) => name as string);
}

/** A path with values instead of its names; a name without a value is kept. */
export function filledPath(path: string, values: Readonly<Record<string, unknown>>): string {
  return path.replaceAll(PATH_NAME, (named, name: string) => {
    const value = values[name];
    return typeof value === "string" ? value : named;
  });
}

/** Every path at which an endpoint is served, with its values. */
export function servedPaths({ path, parameters }: Endpoint): { path: string; values: [string, string][] }[] {
  let served: [string, string][][] = [[]];
  for (const name of pathNames(path)) {
    const allowed = (parameters.properties[name] as ParameterSchema).enum ?? [];
    served = served.flatMap((values) =>
      allowed.map((value) => [...values, [name, value]] as [string, string][]),
    );
  }
  return served.map((values) => ({ path: filledPath(path, Object.fromEntries(values)), values }));
}

/** Content types of an endpoint's file; null = it answers JSON. */
export function fileTypes(endpoint: Endpoint): readonly string[] | null {
  return endpoint.response === null ? (endpoint.fileTypes ?? ["text/csv"]) : null;
}

/** Whether its parameters include a selector. */
export function takesSelector({ parameters }: Endpoint): boolean {
  return "sku" in parameters.properties;
}

/** Whether its answers come in pages that a cursor continues. */
export function isPaged({ parameters }: Endpoint): boolean {
  return "cursor" in parameters.properties;
}

/** `return-rate-leaderboard` → `ReturnRateLeaderboard`. */
export function pascalCase(name: string): string {
  return name.replaceAll(/(?:^|[-_])(\w)/gu, (_match, letter: string) => letter.toUpperCase());
}

/** `return-rate-leaderboard` → `returnRateLeaderboard`. */
export function camelCase(name: string): string {
  return name.replaceAll(/[-_](\w)/gu, (_match, letter: string) => letter.toUpperCase());
}

/** A JSON answer, its `meta` without what every answer has, or a file in pieces, which fails if one is missing. */
export type Answer =
  | { kind: "json"; body: { data: unknown; meta: Record<string, unknown> } }
  | { kind: "file"; filename: string; type: string; content: AsyncIterable<string | Uint8Array> };

export function jsonAnswer(data: unknown, meta: Record<string, unknown>): Answer {
  return { kind: "json", body: { data, meta } };
}

/** The contract's version: in every answer's header and meta. */
export const API_VERSION = "2026-07-05";
