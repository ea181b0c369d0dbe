import { setTimeout as sleep } from "node:timers/promises";
import type { Installation } from "../installation.ts";
import type { createServiceLogger } from "./service-logger.ts";

const LAST_CLOSE_MS = 5000;

/** An uncaught error leaves the process in an unknown state: it is logged, and the process ends. */
export function endOnUnexpectedError(
  installation: Installation,
  logger: ReturnType<typeof createServiceLogger>,
): void {
  const end = async (cause: unknown): Promise<void> => {
    logger.fatal({ err: cause }, "unexpected failure; the process ends");
    await Promise.race([installation.close(), sleep(LAST_CLOSE_MS)]);
    process.exit(1);
  };
  process.once("uncaughtException", (error) => void end(error));
  process.once("unhandledRejection", (error) => void end(error));
}
