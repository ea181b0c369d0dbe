const KNOWN_LABELS: ReadonlyMap<string, string> = new Map([
  ["refund_only", "Refund without return"],
  ["unspecified", "Unspecified"],
]);

const HANDLE = /^(?:[a-z0-9]+(?:[_-][a-z0-9]+)*|[A-Z0-9]+(?:[_-][A-Z0-9]+)*)$/u;

/** The words for a return reason: "too_small" and "TOO_SMALL" are "Too small"; what is no handle stays as it is. */
export function reasonLabel(reason: string): string {
  const known = KNOWN_LABELS.get(reason);
  if (known !== undefined) return known;
  if (!HANDLE.test(reason)) return reason;
  const words = reason.replaceAll(/[_-]/gu, " ").toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
