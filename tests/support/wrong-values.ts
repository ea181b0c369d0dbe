import { readInput, type Field, type Given } from "../../src/actions/field.ts";
import { Refusal } from "../../src/actions/refusal.ts";

/** Values that no field of a kind accepts. */
const WRONG = ["no such \u0007 value", "", "x".repeat(5000)];

/** A value that a field refuses, with the sentence of pages and commands; null = it accepts any text. */
export function wrongFor(
  name: string,
  field: Field<unknown>,
  face: Pick<Given, "subject" | "isForm">,
): { value: string; sentence: string } | null {
  for (const value of WRONG) {
    try {
      readInput({ [name]: field }, { ...face, texts: () => [value] }, new Date());
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { value, sentence: error.message };
    }
  }
  return null;
}
