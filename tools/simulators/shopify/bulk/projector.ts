/**
 * Turns a bulk query's selections into functions that write one JSON line for each node: no executor runs for a
 * node, so that a shop of a hundred thousand orders is written in seconds.
 */
import { getArgumentValues, getNamedType, isLeafType, isListType, getNullableType, Kind } from "graphql";
import type { FieldNode, GraphQLObjectType, GraphQLSchema, SelectionSetNode } from "graphql";
import { missingScope, resolverOf } from "../schema/resolvers.ts";
import { fragmentsOf, fieldsOf } from "../graphql.ts";
import type { Listing } from "../schema/listing.ts";
import type { RequestContext, Source } from "../schema/sources.ts";
import type { BulkQuery } from "./rules.ts";

export type Emit = (line: string, isRoot: boolean) => void;

/** Writes a node and all below it; `parentId` is the nearest node above. */
type NodeWriter = (source: Source, parentId: string | null, emit: Emit) => void;

/** A part of a line, `"key":value`; connections inside it are noted and written as lines of their own. */
type PartWriter = (source: Source, children: Child[]) => string;

type Child = { listing: Listing; write: NodeWriter };

type Compiler = {
  schema: GraphQLSchema;
  fragments: ReturnType<typeof fragmentsOf>;
  context: RequestContext;
};

export class AccessError extends Error {}

/** The root's nodes, one by one; the caller decides when to go on. */
export function* bulkLines(
  schema: GraphQLSchema,
  query: BulkQuery,
  context: RequestContext,
  emit: Emit,
): Generator<void> {
  const compiler: Compiler = { schema, fragments: fragmentsOf(query.document), context };
  const root = connectionWriter(compiler, schema.getQueryType() as GraphQLObjectType, query.root);
  for (const { item } of root.listing(undefined as never).from(undefined, false)) {
    root.write(item as Source, null, emit);
    yield;
  }
}

function connectionWriter(compiler: Compiler, owner: GraphQLObjectType, node: FieldNode) {
  const field = owner.getFields()[node.name.value];
  if (field === undefined) throw new Error(`no field ${node.name.value}`);
  checkAccess(compiler, getNamedType(field.type).name);
  const args = getArgumentValues(field, node);
  const resolve = resolverOf(owner.name, field.name);
  const set = innerSet(innerSet(node, "edges"), "node").selectionSet as SelectionSetNode;
  return {
    listing: (source: Source): Listing =>
      resolve(source as never, args as never, compiler.context) as Listing,
    write: nodeWriter(compiler, set),
  };
}

function nodeWriter(compiler: Compiler, set: SelectionSetNode): NodeWriter {
  const writers = new Map<string, PartWriter>();
  const write: NodeWriter = (source, parentId, emit) => {
    const name = source.typeName;
    let writer = writers.get(name);
    if (writer === undefined) {
      writer = objectWriter(compiler, compiler.schema.getType(name) as GraphQLObjectType, set);
      writers.set(name, writer);
    }
    const children: Child[] = [];
    const body = writer(source, children);
    emit(
      parentId === null ? body : `${body.slice(0, -1)},"__parentId":${JSON.stringify(parentId)}}`,
      parentId === null,
    );
    if (children.length === 0) return;
    const id = resolverOf(name, "id")(source as never, {} as never, compiler.context) as string;
    for (const child of children) {
      for (const { item } of child.listing.from(undefined, false)) child.write(item as Source, id, emit);
    }
  };
  return write;
}

function objectWriter(compiler: Compiler, type: GraphQLObjectType, set: SelectionSetNode): PartWriter {
  const parts: PartWriter[] = [];
  const connections: { listing: (source: Source) => Listing; write: NodeWriter }[] = [];
  for (const [key, nodes] of fieldsOf(compiler, type, set)) {
    const node = nodes[0];
    if (node === undefined) continue;
    const field = type.getFields()[node.name.value];
    if (field !== undefined && getNamedType(field.type).name.endsWith("Connection")) {
      connections.push(connectionWriter(compiler, type, node));
    } else {
      parts.push(fieldWriter(compiler, type, key, nodes));
    }
  }
  return (source, children) => {
    for (const { listing, write } of connections) children.push({ listing: listing(source), write });
    let text = "";
    for (const part of parts)
      text = text === "" ? part(source, children) : `${text},${part(source, children)}`;
    return `{${text}}`;
  };
}

function fieldWriter(
  compiler: Compiler,
  type: GraphQLObjectType,
  key: string,
  nodes: FieldNode[],
): PartWriter {
  const prefix = `${JSON.stringify(key)}:`;
  const node = nodes[0] as FieldNode;
  if (node.name.value === "__typename") return () => `${prefix}${JSON.stringify(type.name)}`;
  const field = type.getFields()[node.name.value];
  if (field === undefined) throw new Error(`no field ${type.name}.${node.name.value}`);
  const args = getArgumentValues(field, node);
  const resolve = resolverOf(type.name, field.name);
  const { context } = compiler;
  const read = (source: Source): unknown => resolve(source as never, args as never, context) ?? null;
  const target = getNamedType(field.type);
  if (isLeafType(target)) return (source) => `${prefix}${JSON.stringify(read(source))}`;
  checkAccess(compiler, target.name);
  const value = valueWriter(compiler, merged(nodes));
  if (!isListType(getNullableType(field.type))) {
    return (source, children) => `${prefix}${value(read(source) as Source | null, children)}`;
  }
  return (source, children) =>
    `${prefix}[${(read(source) as Source[]).map((item) => value(item, children)).join(",")}]`;
}

/** An object inside a line, of whatever concrete type it turns out to be. */
function valueWriter(compiler: Compiler, set: SelectionSetNode) {
  const writers = new Map<string, PartWriter>();
  return (source: Source | null, children: Child[]): string => {
    if (source === null) return "null";
    let writer = writers.get(source.typeName);
    if (writer === undefined) {
      writer = objectWriter(compiler, compiler.schema.getType(source.typeName) as GraphQLObjectType, set);
      writers.set(source.typeName, writer);
    }
    return writer(source, children);
  };
}

function merged(nodes: FieldNode[]): SelectionSetNode {
  const selections = nodes.flatMap(({ selectionSet }) => selectionSet?.selections ?? []);
  return { kind: Kind.SELECTION_SET, selections };
}

function innerSet(node: FieldNode, name: string): FieldNode {
  const found = node.selectionSet?.selections.find(
    (selection) => selection.kind === Kind.FIELD && selection.name.value === name,
  );
  if (found?.kind !== Kind.FIELD) throw new Error(`${node.name.value} selects no ${name}`);
  return found;
}

function checkAccess({ context }: Compiler, typeName: string): void {
  const scope = missingScope(typeName, context.scopes);
  if (scope !== undefined) throw new AccessError(`${scope} is missing`);
}
