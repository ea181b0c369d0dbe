/**
 * An operator's action that is not done, with one clear sentence. `invalid`: what was given is not of the allowed form;
 * `impossible`: it is, but the installation's state does not allow it.
 */
export class Refusal extends Error {
  readonly kind: "invalid" | "impossible";

  constructor(kind: "invalid" | "impossible", message: string) {
    super(message);
    this.name = "Refusal";
    this.kind = kind;
  }
}

export function invalid(message: string): Refusal {
  return new Refusal("invalid", message);
}

export function impossible(message: string): Refusal {
  return new Refusal("impossible", message);
}
