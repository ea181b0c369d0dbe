/** A value of a JSON text that is no object and no array: its text as it was sent, and what it means. */
export type Leaf = { source: string; value: string | number | boolean | null };

/** Every leaf of a JSON text by its path ("data/rows/0/sku"); empty objects and arrays have none. */
export function leavesOf(text: string): Map<string, Leaf> {
  const leaves = new Map<string, Leaf>();
  const tree = JSON.parse(text, (_key, value: unknown, context?: { source?: string }) =>
    context?.source === undefined ? value : new Sourced(context.source, value as Leaf["value"]),
  ) as unknown;
  collect(tree, "", leaves);
  return leaves;
}

class Sourced {
  readonly source: string;
  readonly value: Leaf["value"];
  constructor(source: string, value: Leaf["value"]) {
    this.source = source;
    this.value = value;
  }
}

function collect(node: unknown, path: string, leaves: Map<string, Leaf>): void {
  if (node instanceof Sourced) {
    leaves.set(path, { source: node.source, value: node.value });
    return;
  }
  for (const [key, child] of Object.entries(node as object)) {
    collect(child, path === "" ? key : `${path}/${key}`, leaves);
  }
}
