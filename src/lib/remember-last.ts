/**
 * The same function, which returns its last result again for the same argument. For consecutive calls about one object: a map by
 * object would keep each until the second garbage collection.
 */
export function rememberLast<Argument, Result>(
  make: (argument: Argument) => Result,
): (argument: Argument) => Result {
  let last: { argument: Argument; result: Result } | undefined;
  return (argument) => {
    if (last === undefined || last.argument !== argument) last = { argument, result: make(argument) };
    return last.result;
  };
}
