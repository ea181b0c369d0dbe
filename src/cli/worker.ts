import type { Command } from "commander";
import { startInstallationWorker } from "../app.ts";
import { requireSameSecret } from "../control/installation-secret.ts";
import { listening } from "./port.ts";
import { createServiceLogger } from "./service-logger.ts";
import { inSession } from "./session.ts";
import type { CommandContext } from "./session.ts";
import { endOnUnexpectedError } from "./unexpected-error.ts";

export function addWorkerCommand(program: Command, context: CommandContext): void {
  program
    .command("worker")
    .description(
      "Keep connected sources up to date until it is stopped; `serve` does so too, unless --no-worker is given.",
    )
    .addHelpText(
      "before",
      "Examples:\n  ./returns worker\n  SYNC_RUNS=8 DATABASE_URL=postgres://… ./returns worker\n",
    )
    .action((_options: unknown, command: Command) =>
      inSession(context, command, async ({ config, installation, database, terminal, interruption }) => {
        await requireSameSecret(database, installation.keys.tokenPepper);
        interruption.check();
        const logger = createServiceLogger(config.logLevel);
        const worker = await listening(config, () => startInstallationWorker(config, installation, logger));
        endOnUnexpectedError(installation, logger);
        try {
          const { operationsAddress } = worker;
          const where = operationsAddress === null ? "" : ` Health and metrics: ${operationsAddress}`;
          terminal.print(
            { started: true, operations_address: operationsAddress },
            `The worker keeps connected sources up to date. Ctrl-C stops it.${where}\n`,
          );
          await interruption.arrived();
        } finally {
          await worker.stop();
        }
      }),
    );
}
