import { getNamedType, getNullableType, isListType, Kind, parse, TypeInfo, validate } from "graphql";
import { visit, visitWithTypeInfo } from "graphql";
import type { DocumentNode, FieldNode, GraphQLSchema, OperationDefinitionNode, SelectionNode } from "graphql";

export interface BulkQuery {
  document: DocumentNode;
  root: FieldNode;
}

export class BulkRuleError extends Error {}

const MAX_CONNECTIONS = 5;
/** Levels of connections below the root. */
const MAX_DEPTH = 2;

/** The query of a bulk operation; throws a BulkRuleError with the platform's rule that it breaks. */
export function readBulkQuery(schema: GraphQLSchema, query: string): BulkQuery {
  const document = parseQuery(schema, query);
  const operations = document.definitions.filter(
    (definition) => definition.kind === Kind.OPERATION_DEFINITION,
  );
  const operation = operations[0];
  if (operations.length !== 1 || operation?.operation !== "query")
    throw new BulkRuleError("Only one query is allowed");
  const root = rootOf(operation);
  checkConnections(schema, operation, root);
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

/** An enclosing field: whether it is a connection, and whether a list is between it and the enclosing connection. */
type Place = { isConnection: boolean; inList: boolean };

function checkConnections(schema: GraphQLSchema, operation: OperationDefinitionNode, root: FieldNode): void {
  const info = new TypeInfo(schema);
  const places: Place[] = [];
  let connections = 0;
  const enter = (node: FieldNode, siblings: readonly SelectionNode[]): void => {
    if (node === root && node.selectionSet === undefined)
      throw new BulkRuleError("Bulk queries must contain at least one connection");
    if (node.selectionSet === undefined) return;
    const isConnection = getNamedType(info.getType())?.name.endsWith("Connection") ?? false;
    if (node === root && !isConnection)
      throw new BulkRuleError("The top-level field of a bulk query must be a connection");
    const name = node.name.value;
    const parent = info.getParentType()?.name ?? "";
    const isList = isListType(getNullableType(info.getType())) && !parent.endsWith("Connection");
    const around = places.at(-1);
    const inList = around?.isConnection === false && around.inList;
    places.push({ isConnection, inList: inList || isList });
    if (!isConnection) return;
    connections += 1;
    if (inList) throw new BulkRuleError(`Connections within a list field are not supported: ${name}`);
    if (places.filter((place) => place.isConnection).length > MAX_DEPTH + 1)
      throw new BulkRuleError(`Connections nest deeper than ${MAX_DEPTH} levels`);
    if (node !== root && !selects(siblings, "id"))
      throw new BulkRuleError(`The parent of the connection ${name} must select its id`);
    onlyField(onlyField(node, "edges"), "node", ["cursor"]);
  };
  const fields = {
    enter: (node: FieldNode, _key: unknown, siblings: unknown) => enter(node, siblings as SelectionNode[]),
    leave: (node: FieldNode) => void (node.selectionSet !== undefined && places.pop()),
  };
  const fragment = (): never => {
    throw new BulkRuleError("The simulator reads no named fragments in bulk queries");
  };
  visit(operation, visitWithTypeInfo(info, { Field: fields, FragmentSpread: fragment }));
  if (connections > MAX_CONNECTIONS)
    throw new BulkRuleError(`Bulk queries cannot contain more than ${MAX_CONNECTIONS} connections`);
}

/** Connections may only be read by edges and their node. */
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

function selects(selections: readonly SelectionNode[], name: string): boolean {
  return selections.some((selection) => selection.kind === Kind.FIELD && selection.name.value === name);
}
