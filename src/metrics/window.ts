export type ObservationWindow = "primary" | "30d" | "90d" | "lifetime";

/** M4: the length of a window in days; null for `lifetime`, which has no end. */
export function windowDays(window: ObservationWindow, primaryWindowDays: number): number | null {
  switch (window) {
    case "primary":
      return primaryWindowDays;
    case "30d":
      return 30;
    case "90d":
      return 90;
    case "lifetime":
      return null;
  }
}
