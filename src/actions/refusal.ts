/**
 * An action that is not done, with one clear sentence. `invalid`: what was given is not of the allowed form; `impossible`:
 * it is, but the installation's state does not allow it; `forbidden`: the actor's role does not; `unproved`: the actor has
 * to prove again who they are.
 */
export class Refusal extends Error {
  readonly kind: "invalid" | "impossible" | "forbidden" | "unproved";
  /** Of input: a sentence for each field that is wrong, by the field's name. */
  readonly problems: readonly { name: string; sentence: string }[];

  constructor(kind: Refusal["kind"], message: string, problems: Refusal["problems"] = []) {
    super(message);
    this.name = "Refusal";
    this.kind = kind;
    this.problems = problems;
  }
}

export function invalid(message: string): Refusal {
  return new Refusal("invalid", message);
}

export function impossible(message: string): Refusal {
  return new Refusal("impossible", message);
}
