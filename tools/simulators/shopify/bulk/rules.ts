import {
  getNamedType,
  getNullableType,
  isListType,
  isObjectType,
  isCompositeType,
  Kind,
  parse,
  validate,
  type DocumentNode,
  type FieldNode,
  type GraphQLCompositeType,
  type GraphQLObjectType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from "graphql";
import { fragmentsOf } from "../graphql.ts";

export interface BulkQuery {
  document: DocumentNode;
  root: FieldNode;
}

export class BulkRuleError extends Error {}

const MAX_CONNECTIONS = 5;
/** Levels of connections below the root's. */
const MAX_DEPTH = 2;

type Walk = { schema: GraphQLSchema; document: DocumentNode; connections: number };

/** The query of a bulk operation, if it keeps the platform's rules; else a BulkRuleError says which it breaks. */
export function readBulkQuery(schema: GraphQLSchema, query: string): BulkQuery {
  const document = parseQuery(schema, query);
  const operations = document.definitions.filter(
    (definition) => definition.kind === Kind.OPERATION_DEFINITION,
  );
  const operation = operations[0];
  if (operations.length !== 1 || operation?.operation !== "query")
    throw new BulkRuleError("Only one query is allowed");
  const root = rootOf(operation);
  const walk: Walk = { schema, document, connections: 0 };
  walkSelection(walk, schema.getQueryType() as GraphQLObjectType, operation.selectionSet, {
    depth: -1,
    inList: false,
  });
  if (walk.connections > MAX_CONNECTIONS) {
    throw new BulkRuleError(`Bulk queries cannot contain more than ${MAX_CONNECTIONS} connections`);
  }
  return { document, root };
}

function parseQuery(schema: GraphQLSchema, query: string): DocumentNode {
  let document: DocumentNode;
  try {
    document = parse(query);
  } catch (error) {
    throw new BulkRuleError(`Invalid bulk query: ${error instanceof Error ? error.message : String(error)}`);
  }
  const errors = validate(schema, document);
  if (errors.length > 0) throw new BulkRuleError(`Invalid bulk query: ${errors[0]?.message}`);
  return document;
}

function rootOf(operation: OperationDefinitionNode): FieldNode {
  if ((operation.variableDefinitions?.length ?? 0) > 0)
    throw new BulkRuleError("Bulk queries take no variables");
  const [root, ...others] = operation.selectionSet.selections;
  if (root?.kind !== Kind.FIELD || others.length > 0)
    throw new BulkRuleError("Bulk queries have one top-level field");
  if (root.name.value === "node" || root.name.value === "nodes") {
    throw new BulkRuleError("The top-level node and nodes fields cannot be used in a bulk query");
  }
  return root;
}

function walkSelection(
  walk: Walk,
  type: GraphQLCompositeType,
  set: SelectionSetNode,
  place: { depth: number; inList: boolean },
): void {
  for (const selection of set.selections) {
    if (selection.kind === Kind.FIELD) {
      walkField(walk, type, selection, set, place);
      continue;
    }
    const fragment =
      selection.kind === Kind.FRAGMENT_SPREAD
        ? fragmentsOf(walk.document).get(selection.name.value)
        : selection;
    const name = fragment?.typeCondition?.name.value;
    const inner = name === undefined ? type : walk.schema.getType(name);
    if (fragment !== undefined && isCompositeType(inner))
      walkSelection(walk, inner, fragment.selectionSet, place);
  }
}

function walkField(
  walk: Walk,
  type: GraphQLCompositeType,
  node: FieldNode,
  siblings: SelectionSetNode,
  place: { depth: number; inList: boolean },
): void {
  const field = "getFields" in type ? type.getFields()[node.name.value] : undefined;
  if (field === undefined || node.selectionSet === undefined) {
    if (place.depth === -1) throw new BulkRuleError("Bulk queries must contain at least one connection");
    return;
  }
  const target = getNamedType(field.type) as GraphQLCompositeType;
  if (!target.name.endsWith("Connection")) {
    if (place.depth === -1)
      throw new BulkRuleError("The top-level field of a bulk query must be a connection");
    const inList = place.inList || isListType(getNullableType(field.type));
    walkSelection(walk, target, node.selectionSet, { ...place, inList });
    return;
  }
  if (place.inList)
    throw new BulkRuleError(`Connections within a list field are not supported: ${node.name.value}`);
  if (place.depth >= MAX_DEPTH) throw new BulkRuleError(`Connections nest deeper than ${MAX_DEPTH} levels`);
  if (place.depth >= 0 && !selects(siblings, "id")) {
    throw new BulkRuleError(`The parent of the connection ${node.name.value} must select its id`);
  }
  walk.connections += 1;
  if (!isObjectType(target)) return;
  const inner = nodeSelection(target, node);
  walkSelection(walk, inner.type, inner.set, { depth: place.depth + 1, inList: false });
}

/** Connections are read by edges and their node only. */
function nodeSelection(
  connection: GraphQLObjectType,
  node: FieldNode,
): { type: GraphQLCompositeType; set: SelectionSetNode } {
  const edges = onlyField(node, "edges");
  const inner = onlyField(edges, "node", ["cursor"]);
  const edge = getNamedType(connection.getFields()["edges"]?.type as never) as unknown as GraphQLObjectType;
  const type = getNamedType(edge.getFields()["node"]?.type as never) as unknown as GraphQLCompositeType;
  return { type, set: inner.selectionSet as SelectionSetNode };
}

function onlyField(parent: FieldNode, name: string, allowed: string[] = []): FieldNode {
  let found: FieldNode | undefined;
  for (const selection of parent.selectionSet?.selections ?? []) {
    if (selection.kind === Kind.FIELD && selection.name.value === name) found = selection;
    else if (selection.kind !== Kind.FIELD || !allowed.includes(selection.name.value)) {
      throw new BulkRuleError(`Bulk queries read the connection ${parent.name.value} by edges and node only`);
    }
  }
  if (found === undefined) throw new BulkRuleError(`The connection ${parent.name.value} selects no ${name}`);
  return found;
}

function selects(set: SelectionSetNode, name: string): boolean {
  return set.selections.some((selection) => selection.kind === Kind.FIELD && selection.name.value === name);
}
