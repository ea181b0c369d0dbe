/** A product's id on the wire: the platform's own gid where the source has one, else one of the import. */
export function productGidOf(productId: string): string {
  return productId.startsWith("gid://") ? productId : `gid://import/Product/${productId}`;
}
