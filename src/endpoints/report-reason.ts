import { capital } from "../lib/capital.ts";
import { compareCodePoints } from "../metrics/code-point.ts";
import { REFUND_ONLY, UNSPECIFIED } from "../metrics/returned-units.ts";

/** M8: a reason as the report shows it; `kind` distinguishes a stated one from the two kinds of missing ones. */
type PresentedReason = {
  reason: string;
  kind: "stated" | "refund_only" | "unspecified";
  label: string;
};

const ABSENT: ReadonlyMap<string, PresentedReason> = new Map([
  [REFUND_ONLY, { reason: "refund_only", kind: "refund_only", label: "Refund without return" }],
  [UNSPECIFIED, { reason: "unspecified", kind: "unspecified", label: "Unspecified" }],
]);

const HANDLE = /^(?:[a-z0-9]+(?:[_-][a-z0-9]+)*|[A-Z0-9]+(?:[_-][A-Z0-9]+)*)$/u;

/** M8: from a stored key to the words for it. */
export function presentReason(key: string): PresentedReason {
  return ABSENT.get(key) ?? { reason: key, kind: "stated", label: statedLabel(key) };
}

/** By code point of the words; of equal words the stated reason comes first. */
export function compareReasons(left: PresentedReason, right: PresentedReason): number {
  return (
    compareCodePoints(left.reason, right.reason) ||
    Number(right.kind === "stated") - Number(left.kind === "stated")
  );
}

/** "too_small" and "TOO_SMALL" become "Too small"; other texts are unchanged. */
function statedLabel(reason: string): string {
  if (!HANDLE.test(reason)) return reason;
  const words = reason.replaceAll(/[_-]/gu, " ").toLowerCase();
  return capital(words);
}
