/** A child's number contains its parent's, so that any gid can be resolved without an index. */
const CHILDREN = 100;

/** The offset of each kind of id: ids of a real shop are large and do not show counts. */
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

/** The ids of an object in webhooks. */
export function idsOf(type: string, number: number): { id: number; admin_graphql_api_id: string } {
  return { id: number + (OFFSETS[type] ?? 0), admin_graphql_api_id: gid(type, number) };
}

/** The type and number of a gid of this shop; undefined for other text. */
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
