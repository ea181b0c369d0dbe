import { openTracing, startInstallationWorker, startService } from "../app.ts";
import type { InstallationWorker, Service } from "../app.ts";
import { isDemoMissing } from "../demo/demo-workspace.ts";
import { openKeys } from "../actions/installation/secrets.ts";
import { needsMigration, requireCurrentSchema } from "../actions/installation/schema.ts";
import { claimService } from "./service-claim.ts";
import { finishMigration, migrateInstallation } from "../installation.ts";
import type { CommandSpec } from "./command.ts";
import { createDemo } from "./demo.ts";
import type { CreatedDemo } from "./demo.ts";
import { listening, requireFreePort } from "./port.ts";
import { createServiceLogger } from "./service-logger.ts";
import type { Session } from "./session.ts";
import { endOnUnexpectedError } from "./unexpected-error.ts";
import { printWelcome } from "./welcome.ts";

type ServeOptions = { migrate: boolean; demo: boolean; worker: boolean };

export const SERVE: CommandSpec = {
  name: "serve",
  summary: "Serve the API until it is stopped; what `npm start` runs.",
  takesAnySchema: true,
  options: {
    "--no-migrate": "refuse to start on a schema that is behind, instead of bringing it up to date",
    "--no-worker": "only serve; connected sources are kept up to date by ./returns worker",
    "--no-demo": "do not create a demo workspace on the first start of the embedded database",
  },
  examples: ["./returns serve", "PORT=9000 LOG_LEVEL=warn ./returns serve --no-demo"],
  run: serve,
};

/** Of two starts with one embedded database the second ends here; several servers of one DATABASE_URL are fine. */
async function serve(session: Session, options: ServeOptions): Promise<void> {
  const { config, installation, interruption } = session;
  const claim = installation.embedded && (await claimService(installation.embedded, installation.dataFolder));
  try {
    await requireFreePort(config.host, config.port);
    const demo = await prepare(session, options);
    interruption.check();
    const logger = createServiceLogger(config.logLevel);
    const tracing = await openTracing(config, logger);
    let service: Service | null = null;
    let worker: InstallationWorker | null = null;
    try {
      service = await listening(config, () => startService(config, installation, logger));
      endOnUnexpectedError(installation, logger);
      if (options.worker) {
        worker = await startInstallationWorker(config, installation, logger, service.metrics);
      }
      // Memory that only the start needed is released; the launcher makes `gc` known.
      globalThis.gc?.({ type: "major", flavor: "last-resort" });
      claim?.announce(service.address);
      await printWelcome(session, service.address, demo);
      await interruption.arrived();
    } finally {
      await Promise.all([service?.stop(), worker?.stop()]);
      await tracing?.stop();
    }
  } finally {
    claim?.release();
  }
}

/** Schema, secret, and on the first start the demo workspace. */
async function prepare(session: Session, options: ServeOptions): Promise<CreatedDemo | null> {
  const { database, installation, terminal, interruption } = session;
  if (options.migrate && (await needsMigration(database))) {
    await migrateInstallation(installation, terminal.tell);
  }
  await requireCurrentSchema(database);
  // An earlier start may have ended between its migration and this.
  await finishMigration(installation, terminal.tell);
  await openKeys(installation);
  interruption.check();
  if (installation.embedded === null || !options.demo || !(await isDemoMissing(database))) return null;
  terminal.hint("First start: creating a demo workspace with two years of a generated store…");
  return createDemo(session, {});
}
