import { openTracing, startInstallationWorker } from "../app.ts";
import type { InstallationWorker } from "../app.ts";
import type { CommandSpec } from "./command.ts";
import { listening } from "./port.ts";
import { createServiceLogger } from "./service-logger.ts";
import { endOnUnexpectedError } from "./unexpected-error.ts";

export const WORKER: CommandSpec = {
  name: "worker",
  summary:
    "Keep connected sources up to date until it is stopped; `serve` does so too, unless --no-worker is given.",
  examples: ["./returns worker", "SYNC_RUNS=8 DATABASE_URL=postgres://… ./returns worker"],
  run: async ({ config, installation, terminal, interruption }) => {
    interruption.check();
    const logger = createServiceLogger(config.logLevel);
    const tracing = await openTracing(config, logger);
    let worker: InstallationWorker | null = null;
    try {
      worker = await listening(config, () => startInstallationWorker(config, installation, logger));
      endOnUnexpectedError(installation, logger);
      const { operationsAddress } = worker;
      const where = operationsAddress === null ? "" : ` Health and metrics: ${operationsAddress}`;
      terminal.print(
        { started: true, operations_address: operationsAddress },
        `The worker keeps connected sources up to date. Ctrl-C stops it.${where}\n`,
      );
      await interruption.arrived();
    } finally {
      await worker?.stop();
      await tracing?.stop();
    }
  },
};
