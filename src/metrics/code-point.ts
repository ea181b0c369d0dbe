/**
 * Sorts texts by code point, as PostgreSQL's COLLATE "C" sorts UTF-8. JavaScript's `<` compares UTF-16 units and so puts
 * characters beyond U+FFFF before U+E000–U+FFFF.
 */
export function compareCodePoints(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const leftUnit = left.charCodeAt(index);
    const rightUnit = right.charCodeAt(index);
    if (leftUnit !== rightUnit) return codePointRank(leftUnit) - codePointRank(rightUnit);
  }
  return left.length - right.length;
}

/** Moves surrogates, the halves of the highest code points, above U+E000–U+FFFF. */
function codePointRank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
