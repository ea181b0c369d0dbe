/** Children's numbers are made of their parent's, so that any gid leads to its object without an index. */
const CHILDREN = 100;

/** Where each kind of id starts: ids of a real shop are large and say nothing about counts. */
const OFFSETS: Record<string, number> = {
  Order: 5_800_000_000_000,
  LineItem: 14_000_000_000_000,
  Return: 9_100_000_000,
  Refund: 870_000_000_000,
  Product: 7_900_000_000_000,
  ProductVariant: 43_000_000_000_000,
  InventoryItem: 45_000_000_000_000,
};

export function childNumber(parent: number, index: number): number {
  return parent * CHILDREN + index;
}

export function parentOf(child: number): { parent: number; index: number } {
  return { parent: Math.floor(child / CHILDREN), index: child % CHILDREN };
}

export function gid(type: string, number: number): string {
  return `gid://shopify/${type}/${number + (OFFSETS[type] ?? 0)}`;
}

/** As webhooks name an object. */
export function idsOf(type: string, number: number): { id: number; admin_graphql_api_id: string } {
  return { id: number + (OFFSETS[type] ?? 0), admin_graphql_api_id: gid(type, number) };
}

/** The type and number of a gid of this shop; undefined for text that is none. */
export function parseGid(text: string): { type: string; number: number } | undefined {
  const match = /^gid:\/\/shopify\/([A-Za-z]+)\/(\d+)$/.exec(text);
  if (match === null) return undefined;
  const type = match[1] ?? "";
  const number = Number(match[2]) - (OFFSETS[type] ?? 0);
  return number > 0 ? { type, number } : undefined;
}

export function orderName(number: number): string {
  return `#${1000 + number}`;
}
