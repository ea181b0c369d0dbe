/** A command interrupted by a signal; its changes are undone. */
export class Interrupted extends Error {
  readonly exitCode: number;

  constructor(signal: StopSignal) {
    super("Interrupted.");
    this.name = "Interrupted";
    this.exitCode = EXIT_CODES[signal];
  }
}

type StopSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

export type Interruption = {
  /** Aborted by the first signal, with an `Interrupted`. */
  signal: AbortSignal;
  /** Throws the `Interrupted` once a signal came; long work calls it between its steps. */
  check(): void;
  /** Resolves once a signal came. */
  arrived(): Promise<void>;
  /** Gives the signals back to the process. */
  end(): void;
};

const EXIT_CODES: Record<StopSignal, number> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };
const STOP_SIGNALS: readonly StopSignal[] = ["SIGINT", "SIGTERM", "SIGHUP"];
/** npm and a terminal may both deliver the same Ctrl-C. */
const REPEATED_SIGNAL_MS = 300;

/**
 * Turns the first signal into an abort, so that a transaction is rolled back and the embedded database is left in order. A second
 * signal, or `longestStopMs`, ends the process at once; the database then rolls back by itself.
 */
export function listenForInterruption(onFirst: () => void, longestStopMs: number): Interruption {
  const abort = new AbortController();
  let firstAtMs = 0;
  let timer: NodeJS.Timeout | undefined;
  const onSignal = (signal: StopSignal): void => {
    if (firstAtMs === 0) {
      firstAtMs = Date.now();
      timer = setTimeout(() => process.exit(EXIT_CODES[signal]), longestStopMs);
      timer.unref();
      onFirst();
      abort.abort(new Interrupted(signal));
    } else if (Date.now() - firstAtMs > REPEATED_SIGNAL_MS) {
      process.exit(EXIT_CODES[signal]);
    }
  };
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  return {
    signal: abort.signal,
    check: () => abort.signal.throwIfAborted(),
    arrived: () =>
      new Promise((arrived) => {
        if (abort.signal.aborted) arrived();
        abort.signal.addEventListener("abort", () => arrived(), { once: true });
      }),
    end: () => {
      clearTimeout(timer);
      for (const signal of STOP_SIGNALS) process.off(signal, onSignal);
    },
  };
}
