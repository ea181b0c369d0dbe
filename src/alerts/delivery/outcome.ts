/** What became of one try; `problem` is a sentence that its workspace's people read. */
export type SendOutcome =
  /** `answer`: what the receiver said, a sentence. */
  | { status: "delivered"; answer: string }
  /** It may succeed later; `retryAfterMs`: how long the receiver asks to be left alone. */
  | { status: "failed"; problem: string; retryAfterMs: number | null }
  /** "gone": the receiver wants no more messages. "refused": it will never take this one. */
  | { status: "gone" | "refused"; problem: string };

export function failed(problem: string, retryAfterMs: number | null = null): SendOutcome {
  return { status: "failed", problem, retryAfterMs };
}
