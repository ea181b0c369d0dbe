/**
 * The same function, which gives its last result again for the same argument. For runs of calls about one object: a
 * table by object would hold each until the garbage collector has looked at it twice.
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
