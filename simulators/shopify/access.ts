/** The access scope that an object's type needs. */
const SCOPES: Record<string, string> = {
  Order: "read_orders",
  Refund: "read_orders",
  Return: "read_returns",
  ReturnReasonDefinition: "read_returns",
  Product: "read_products",
  ProductVariant: "read_products",
};

/** The scope that is missing to read a field of this type; undefined when none is. */
export function missingScope(typeName: string, scopes: readonly string[]): string | undefined {
  const needed = SCOPES[typeName.replace(/(?:Connection|Edge)$/, "")];
  return needed === undefined || scopes.includes(needed) ? undefined : needed;
}
