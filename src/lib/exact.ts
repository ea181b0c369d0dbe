/** A whole number beyond ±(2^53 − 1), which may differ from what it stands for. */
export class Inexact extends RangeError {
  override name = "Inexact";
  override message = "a number is beyond 2^53";
}

/** The number as it is; throws `Inexact`. */
export function exact(value: number): number {
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) throw new Inexact();
  return value;
}
