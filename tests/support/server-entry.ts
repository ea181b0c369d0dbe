/**
 * One server of a database, as its own process: node server-entry.ts, with the options in the environment.
 * Prints {address} as one line; SIGTERM stops it.
 */
import pino from "pino";
import { startService } from "../../src/app.ts";
import { openInstallation } from "../../src/installation.ts";
import { readConfig } from "../../src/config.ts";

const config = readConfig(process.env);
const installation = await openInstallation(config, console.error);
const service = await startService(config, installation, pino({ level: config.logLevel }, process.stderr));
console.log(JSON.stringify({ address: service.address }));
process.once("SIGTERM", () => void stop());

/** The process must end by itself once everything is closed. */
async function stop(): Promise<void> {
  await service.stop();
  await installation.close();
}
