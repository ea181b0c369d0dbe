import {
  execute,
  Kind,
  parse,
  validate,
  getNamedType,
  isAbstractType,
  isObjectType,
  valueFromASTUntyped,
  type DocumentNode,
  type ExecutionResult,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type FieldNode,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLObjectType,
  type SelectionSetNode,
} from "graphql";
import { resolveField, typeNameOf } from "./schema/resolvers.ts";
import type { RequestContext } from "./schema/nodes.ts";
import type { Statistics } from "./shop.ts";

export interface GraphqlRequest {
  query?: unknown;
  variables?: Record<string, unknown> | null;
  operationName?: string | null;
}

/** The answer's body; its status is always 200, as on the platform. */
interface GraphqlAnswer {
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
  const actual = mutation ? requested : actualCost(input, requested, result.data);
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

/** Valid documents by their text: parsing one takes longer than executing it. */
const known = new Map<string, DocumentNode>();

function readDocument(schema: GraphQLSchema, query: unknown): DocumentNode | { errors: unknown } {
  if (typeof query !== "string") return { errors: { query: "Required parameter missing or invalid" } };
  const read = known.get(query);
  if (read !== undefined) return read;
  try {
    const document = parse(query, { maxTokens: 10_000 });
    const errors = validate(schema, document);
    if (errors.length > 0) return { errors: errors.map((error) => error.toJSON()) };
    known.set(query, document);
    return document;
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

export type Bucket = ReturnType<typeof makeBucket>;

/** The leaky bucket of points that an app has for a shop. It fills in real time. */
export function makeBucket(size: number, restorePerSecond: number) {
  let available = size;
  let filledAt = performance.now();
  const fill = (): void => {
    const now = performance.now();
    available = Math.min(size, available + ((now - filledAt) / 1000) * restorePerSecond);
    filledAt = now;
  };
  return {
    /** Takes the points if there are enough. */
    take: (points: number): boolean => {
      fill();
      if (points > available) return false;
      available -= points;
      return true;
    },
    give: (points: number): void => {
      fill();
      available = Math.min(size, available + points);
    },
    drain: (): void => {
      fill();
      available = 0;
    },
    status: () => {
      fill();
      return {
        maximumAvailable: size,
        currentlyAvailable: Math.floor(available),
        restoreRate: restorePerSecond,
      };
    },
  };
}

interface CostInput {
  schema: GraphQLSchema;
  operation: OperationDefinitionNode;
  fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  variables: Record<string, unknown>;
  connectionCost: "logarithmic" | "linear";
}

type Data = Record<string, unknown>;

const MUTATION_COST = 10;
const CONNECTION_COST = 2;
const FREE_TYPES = new Set(["MoneyBag", "MoneyV2", "PageInfo"]);

/**
 * The cost before execution, from the page sizes asked for. By the platform's rules scalars and enums cost 0, an object 1,
 * an interface or union its most expensive selection, a mutation 10, a connection 2 plus its page. The page counts less than object
 * by object: the platform scales it logarithmically (250 objects count 11, 10 count 4), and money and page info are free.
 */
function requestedCost(input: CostInput): number {
  return rootCost(input, undefined);
}

/** The cost of the returned data; never above the requested cost. */
function actualCost(input: CostInput, requested: number, data: Data | null | undefined): number {
  return data === null || data === undefined ? 0 : Math.min(requested, Math.round(rootCost(input, data)));
}

function rootCost(input: CostInput, data: Data | undefined): number {
  const { schema, operation } = input;
  const root = schema.getRootType(operation.operation);
  if (root === null || root === undefined) return 0;
  if (operation.operation === "mutation") return MUTATION_COST * operation.selectionSet.selections.length;
  return selectionCost(input, root, operation.selectionSet, data);
}

function selectionCost(
  input: CostInput,
  type: GraphQLObjectType,
  set: SelectionSetNode,
  data: Data | undefined,
): number {
  let cost = 0;
  for (const [key, nodes] of fieldsOf(input, type, set)) {
    const first = nodes[0];
    const field = first === undefined ? undefined : type.getFields()[first.name.value];
    if (first === undefined || field === undefined) continue;
    cost += fieldCost(input, field, nodes, data === undefined ? undefined : (data[key] ?? null));
  }
  return cost;
}

function fieldCost(
  input: CostInput,
  field: GraphQLField<unknown, unknown>,
  nodes: FieldNode[],
  data: unknown,
): number {
  const type = getNamedType(field.type);
  if (!isObjectType(type) && !isAbstractType(type)) return 0;
  const sets = nodes.flatMap(({ selectionSet }) => (selectionSet === undefined ? [] : [selectionSet]));
  if (type.name.endsWith("Connection") && isObjectType(type))
    return connectionCost(input, type, nodes, sets, data);
  const own = FREE_TYPES.has(type.name) ? 0 : 1;
  const ids = argumentOf(input, nodes[0], "ids");
  if (field.name === "nodes" && Array.isArray(ids)) {
    if (!Array.isArray(data)) return ids.length * (own + compositeCost(input, type, sets, undefined));
    return data.reduce<number>((sum, item) => sum + own + compositeCost(input, type, sets, item), 0);
  }
  if (Array.isArray(data)) {
    return own + Math.max(0, ...data.map((item) => compositeCost(input, type, sets, item)));
  }
  return own + compositeCost(input, type, sets, data);
}

function connectionCost(
  input: CostInput,
  connection: GraphQLObjectType,
  nodes: FieldNode[],
  sets: SelectionSetNode[],
  data: unknown,
): number {
  const inner = nodeSelections(input, connection, sets);
  const type = getNamedType(inner.type);
  const asked = Number(argumentOf(input, nodes[0], "first") ?? argumentOf(input, nodes[0], "last") ?? 0);
  if (data === undefined) {
    return CONNECTION_COST + sizeOf(input, asked) * (1 + compositeCost(input, type, inner.sets, undefined));
  }
  const found = itemsOf(data);
  if (found.length === 0) return CONNECTION_COST;
  const total = found.reduce<number>(
    (sum, item) => sum + 1 + compositeCost(input, type, inner.sets, item),
    0,
  );
  return CONNECTION_COST + (sizeOf(input, found.length) * total) / found.length;
}

function compositeCost(input: CostInput, type: unknown, sets: SelectionSetNode[], data: unknown): number {
  if (data === null) return 0;
  const composite = type as GraphQLCompositeType;
  const concrete = isObjectType(composite) ? [composite] : input.schema.getPossibleTypes(composite);
  const costs = concrete.map((one) =>
    sets.reduce((sum, set) => sum + selectionCost(input, one, set, data as Data | undefined), 0),
  );
  return Math.max(0, ...costs);
}

function sizeOf({ connectionCost: mode }: CostInput, count: number): number {
  return mode === "linear" ? count : Math.max(1, Math.floor(2 * Math.log(count)));
}

/** What a connection selects of its nodes, through `nodes` or through `edges { node }`. */
function nodeSelections(input: CostInput, connection: GraphQLObjectType, sets: SelectionSetNode[]) {
  const found: SelectionSetNode[] = [];
  const edge = getNamedType(connection.getFields()["edges"]?.type as never) as unknown as GraphQLObjectType;
  for (const set of sets) {
    for (const field of [...fieldsOf(input, connection, set).values()].flat()) {
      if (field.selectionSet === undefined) continue;
      if (field.name.value === "nodes") found.push(field.selectionSet);
      if (field.name.value !== "edges") continue;
      for (const inner of [...fieldsOf(input, edge, field.selectionSet).values()].flat()) {
        if (inner.selectionSet !== undefined) found.push(inner.selectionSet);
      }
    }
  }
  return { type: edge.getFields()["node"]?.type as never, sets: found };
}

function itemsOf(data: unknown): unknown[] {
  const connection = data as { nodes?: unknown[]; edges?: { node: unknown }[] } | null;
  return connection?.nodes ?? connection?.edges?.map(({ node }) => node) ?? [];
}

/** The fields that apply to a concrete type, by their key in the answer. */
function fieldsOf(
  input: Pick<CostInput, "schema" | "fragments">,
  type: GraphQLObjectType,
  set: SelectionSetNode,
  found: Map<string, FieldNode[]> = new Map(),
): Map<string, FieldNode[]> {
  for (const selection of set.selections) {
    if (selection.kind === Kind.FIELD) {
      const key = selection.alias?.value ?? selection.name.value;
      found.set(key, [...(found.get(key) ?? []), selection]);
      continue;
    }
    const fragment =
      selection.kind === Kind.FRAGMENT_SPREAD ? input.fragments.get(selection.name.value) : selection;
    const condition = fragment?.typeCondition?.name.value;
    const named = condition === undefined ? type : input.schema.getType(condition);
    const applies = named === type || (isAbstractType(named) && input.schema.isSubType(named, type));
    if (fragment !== undefined && applies) fieldsOf(input, type, fragment.selectionSet, found);
  }
  return found;
}

function argumentOf(input: CostInput, node: FieldNode | undefined, name: string): unknown {
  const argument = node?.arguments?.find((one) => one.name.value === name);
  return argument === undefined ? undefined : valueFromASTUntyped(argument.value, input.variables);
}
