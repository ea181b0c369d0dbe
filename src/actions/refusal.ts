/**
 * A refused action, with one clear sentence. `invalid`: the input has the wrong form; `impossible`: the installation's state does
 * not allow it; `forbidden`: the actor's role does not; `unconfirmed`: the actor has to confirm their identity again.
 */
export class Refusal extends Error {
  readonly kind: "invalid" | "impossible" | "forbidden" | "unconfirmed";
  /** Of input: a sentence for each field that is wrong, by the field's name. */
  readonly problems: readonly { name: string; sentence: string }[];

  constructor(kind: Refusal["kind"], message: string, problems: Refusal["problems"] = []) {
    super(message);
    this.name = "Refusal";
    this.kind = kind;
    this.problems = problems;
  }
}

/** `field`: the one that the sentence is about; a form shows it there, too. */
export function invalid(message: string, field?: string): Refusal {
  return new Refusal("invalid", message, problemsOf(message, field));
}

export function impossible(message: string, field?: string): Refusal {
  return new Refusal("impossible", message, problemsOf(message, field));
}

/** A moving workspace cannot be changed, since the copy would lack the change. */
export function movingAway(shopDomain: string): Refusal {
  return impossible(`${shopDomain} is moving to another installation: it cannot be changed here.`);
}

function problemsOf(sentence: string, name: string | undefined): Refusal["problems"] {
  return name === undefined ? [] : [{ name, sentence }];
}

const UNDO_MS = 24 * 3_600_000;

/** Removals after that moment can be undone. */
export function undoableSince(now: Date): Date {
  return new Date(now.getTime() - UNDO_MS);
}

/** The HTTP status of a refusal, by its kind. */
export const STATUS_OF_REFUSAL = { invalid: 400, forbidden: 403, unconfirmed: 403, impossible: 409 } as const;
