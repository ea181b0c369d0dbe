import { InvalidArgumentError } from "commander";

/** The `key=value` arguments of a command, each key once. Throws a usage error. */
export function readAssignments(words: readonly string[]): Map<string, string> {
  const assignments = new Map<string, string>();
  for (const word of words) {
    const [, key, value] = /^([a-z_]+)=(.*)$/su.exec(word) ?? [];
    if (key === undefined || value === undefined) {
      throw new InvalidArgumentError(`Settings are written key=value; "${word}" is not.`);
    }
    if (assignments.has(key)) throw new InvalidArgumentError(`The setting ${key} is given twice.`);
    assignments.set(key, value.trim());
  }
  return assignments;
}
