import { execute, Kind, parse, validate } from "graphql";
import type {
  DocumentNode,
  ExecutionResult,
  FragmentDefinitionNode,
  GraphQLSchema,
  OperationDefinitionNode,
} from "graphql";
import type { Bucket } from "./bucket.ts";
import { actualCost, requestedCost } from "./schema/cost.ts";
import type { CostInput } from "./schema/cost.ts";
import type { RequestContext } from "./schema/resolver.ts";
import { resolveField, typeNameOf } from "./schema/resolvers.ts";
import type { Statistics } from "./statistics.ts";

export interface GraphqlRequest {
  query?: unknown;
  variables?: Record<string, unknown> | null;
  operationName?: string | null;
}

/** The answer's body; its status is 200 whatever happens, as on the platform. */
export interface GraphqlAnswer {
  data?: unknown;
  errors?: unknown;
  extensions?: { cost: Record<string, unknown> };
}

export interface GraphqlParts {
  schema: GraphQLSchema;
  bucket: Bucket;
  statistics: Statistics;
  connectionCost: "logarithmic" | "linear";
}

const MAX_COST = 1000;
const MAX_ARRAY = 250;

/** Validates, prices, throttles and executes one request. */
export async function answerGraphql(
  parts: GraphqlParts,
  request: GraphqlRequest,
  context: RequestContext,
): Promise<GraphqlAnswer> {
  const { schema, bucket, statistics } = parts;
  const document = readDocument(schema, request.query);
  if ("errors" in document) return document;
  const operation = operationOf(document, request.operationName ?? undefined);
  if (operation === undefined) return { errors: [{ message: "No operation to run" }] };
  const variables = request.variables ?? {};
  const fragments = fragmentsOf(document);
  const input: CostInput = { schema, operation, fragments, variables, connectionCost: parts.connectionCost };
  const size = longestArray(variables);
  if (size > MAX_ARRAY) return refusedArray(size);
  const requested = requestedCost(input);
  if (requested > MAX_COST) {
    statistics.refusedForCost += 1;
    return refusedCost(requested);
  }
  if (!bucket.take(requested)) {
    statistics.throttled += 1;
    return throttledAnswer(bucket, requested);
  }
  const result = await execute({
    schema,
    document,
    variableValues: variables,
    operationName: request.operationName ?? null,
    contextValue: context,
    fieldResolver: resolveField,
    typeResolver: typeNameOf,
  });
  return answerOf(parts, input, requested, result);
}

export function throttledAnswer(bucket: Bucket, requested: number): GraphqlAnswer {
  return {
    errors: [{ message: "Throttled", extensions: { code: "THROTTLED" } }],
    extensions: {
      cost: { requestedQueryCost: requested, actualQueryCost: null, throttleStatus: bucket.status() },
    },
  };
}

export function fragmentsOf(document: DocumentNode): Map<string, FragmentDefinitionNode> {
  const found = document.definitions.filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION);
  return new Map(found.map((fragment) => [fragment.name.value, fragment]));
}

function answerOf(
  parts: GraphqlParts,
  input: CostInput,
  requested: number,
  result: ExecutionResult,
): GraphqlAnswer {
  const { bucket, statistics } = parts;
  const mutation = input.operation.operation === "mutation";
  const actual = mutation ? requested : actualCost(input, result.data);
  bucket.give(requested - actual);
  statistics.cost += actual;
  statistics.highestCost = Math.max(statistics.highestCost, requested);
  return {
    ...(result.data !== undefined && { data: result.data }),
    ...(result.errors !== undefined && { errors: result.errors.map((error) => error.toJSON()) }),
    extensions: {
      cost: { requestedQueryCost: requested, actualQueryCost: actual, throttleStatus: bucket.status() },
    },
  };
}

function readDocument(schema: GraphQLSchema, query: unknown): DocumentNode | { errors: unknown } {
  if (typeof query !== "string") return { errors: { query: "Required parameter missing or invalid" } };
  try {
    const document = parse(query, { maxTokens: 10_000 });
    const errors = validate(schema, document);
    return errors.length === 0 ? document : { errors: errors.map((error) => error.toJSON()) };
  } catch (error) {
    return { errors: [{ message: error instanceof Error ? error.message : String(error) }] };
  }
}

function operationOf(document: DocumentNode, name: string | undefined): OperationDefinitionNode | undefined {
  const operations = document.definitions.filter(
    (definition) => definition.kind === Kind.OPERATION_DEFINITION,
  );
  if (name === undefined) return operations.length === 1 ? operations[0] : undefined;
  return operations.find((operation) => operation.name?.value === name);
}

function longestArray(variables: Record<string, unknown>): number {
  return Math.max(0, ...Object.values(variables).map((value) => (Array.isArray(value) ? value.length : 0)));
}

function refusedArray(size: number): GraphqlAnswer {
  return {
    errors: [
      {
        message: `The input array size of ${size} is greater than the maximum allowed of ${MAX_ARRAY}.`,
        extensions: { code: "MAX_INPUT_SIZE_EXCEEDED" },
      },
    ],
  };
}

function refusedCost(cost: number): GraphqlAnswer {
  return {
    errors: [
      {
        message: `Query cost is ${cost}, which exceeds the single query max cost limit ${MAX_COST}.`,
        extensions: { code: "MAX_COST_EXCEEDED", cost, maxCost: MAX_COST },
      },
    ],
  };
}
