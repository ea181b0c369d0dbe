/** Ends a request that takes too long, or that its caller gives up. */
export type Deadline = {
  signal: AbortSignal;
  /** Whether it was time, and not the caller. */
  hasPassed(): boolean;
  /** Restarts the time: something came. */
  restart(): void;
  /** Stops the time while the caller is at work. */
  pause(): void;
  end(): void;
};

/** Not `AbortSignal.any`, which browsers in use lack; and a time that can restart. */
export function startDeadline(timeoutMs: number, callerSignal: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  let hasPassed = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const giveUp = (): void => controller.abort(callerSignal?.reason);
  const pause = (): void => clearTimeout(timer);
  const restart = (): void => {
    pause();
    timer = setTimeout(() => {
      hasPassed = true;
      controller.abort();
    }, timeoutMs);
  };
  callerSignal?.addEventListener("abort", giveUp, { once: true });
  restart();
  return {
    signal: controller.signal,
    hasPassed: () => hasPassed,
    restart,
    pause,
    end: () => {
      pause();
      callerSignal?.removeEventListener("abort", giveUp);
    },
  };
}
