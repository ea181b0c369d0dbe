import { createServer } from "node:net";
import { readList, runAction } from "../actions/action.ts";
import { OPERATOR } from "../actions/actor.ts";
import { consoleAddress } from "../actions/console-address.ts";
import { textInput } from "../actions/field.ts";
import { needsMigration, requireCurrentSchema } from "../actions/installation/schema.ts";
import { openKeys } from "../actions/installation/secrets.ts";
import { linkUser } from "../actions/people/actions.ts";
import { impossible } from "../actions/refusal.ts";
import { workspaceList } from "../actions/workspace/workspace.ts";
import { openTracing, startInstallationWorker, startService } from "../app.ts";
import type { InstallationWorker, Service } from "../app.ts";
import { curlLine, shellQuoted } from "../contract/written-request.ts";
import { demoTokenFile, hasDemoToken, isDemoMissing } from "../demo/demo-workspace.ts";
import { finishMigration, migrateInstallation } from "../installation.ts";
import { formatFields } from "../lib/table.ts";
import { VERSION } from "../lib/version.ts";
import type { CommandSpec } from "./command.ts";
import { createDemo, type CreatedDemo } from "./demo.ts";
import { claimService, type Session } from "./session.ts";
import { createServiceLogger, endOnUnexpectedError } from "./service-logger.ts";

type ServeOptions = { migrate: boolean; demo: boolean; worker: boolean };

export const SERVE: CommandSpec = {
  name: "serve",
  summary: "Serve the API until it is stopped; what `npm start` runs.",
  takesAnySchema: true,
  options: {
    "--no-migrate": "refuse to start on a schema that is behind, instead of migrating it",
    "--no-worker": "only serve; connected sources are kept up to date by ./returns worker",
    "--no-demo": "do not create a demo workspace on the first start of the embedded database",
  },
  examples: ["./returns serve", "PORT=9000 LOG_LEVEL=warn ./returns serve --no-demo"],
  run: serve,
};

/** Of two starts with one embedded database the second ends here; several servers with one DATABASE_URL are allowed. */
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

/** Throws a `Refusal` when the port cannot be listened on, before any long work is done for nothing. */
async function requireFreePort(host: string, port: number): Promise<void> {
  if (port === 0) return;
  await new Promise<void>((resolve, reject) => {
    const server = createServer();
    server.once("error", (error) => reject(portFailure(error, host, port)));
    server.listen(port, host, () => server.close(() => resolve()));
  });
}

/** Starts what listens; throws the sentence for a failure to listen, and any other error as it is. */
export async function listening<Started>(
  { host, port }: { host: string; port: number },
  start: () => Promise<Started>,
): Promise<Started> {
  try {
    return await start();
  } catch (error) {
    throw portFailure(error as Error, host, port);
  }
}

function portFailure(error: Error, host: string, port: number): Error {
  const {
    code,
    port: failedPort = port,
    address = host,
  } = error as NodeJS.ErrnoException & { port?: number; address?: string };
  const prefix = failedPort === port ? "" : "OPERATIONS_";
  const option = `${prefix}PORT`;
  if (code === "EADDRINUSE") {
    return impossible(
      `Port ${failedPort} of ${address} is in use: stop the process that uses it, or set ${option} to another port.`,
    );
  }
  if (code === "EACCES") {
    return impossible(`This user may not listen on port ${failedPort}: set ${option} to 1024 or above.`);
  }
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
    return impossible(`${prefix}HOST ${address} is not an address of this machine.`);
  }
  return error;
}

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

/** Prints the service's address and first requests on standard output. */
async function printWelcome(session: Session, address: string, demo: CreatedDemo | null): Promise<void> {
  const { database, installation, terminal } = session;
  const workspaces = await readList(workspaceList, { database, actor: OPERATOR, now: new Date() });
  const keptFile = demoTokenFile(installation);
  const isKept = demo !== null || (await hasDemoToken(database, keptFile, new Date()));
  const tokenFile = isKept ? keptFile : null;
  const { hasConsole, publicUrl } = session.config;
  const origin = hasConsole ? consoleAddress(publicUrl, new URL(address).port) : null;
  const link = await makeLink(session, origin);
  const requests = demo?.requests.map((request) => curlLine(address, request, demo.token)) ?? [];
  const document = {
    address,
    docs: `${address}/docs`,
    console: origin,
    console_link: link,
    version: VERSION,
    database: installation.embedded === null ? "external" : "embedded",
    data_folder: installation.dataFolder,
    workspaces: workspaces.map((workspace) => workspace.shop_domain),
    demo_token_file: tokenFile,
    demo_token: demo?.token ?? null,
    requests,
  };
  const facts = formatFields({
    API: `${address}/api/v1/`,
    Guides: `${address}/docs`,
    ...(origin === null ? {} : { Console: origin }),
    Database: installation.embedded === null ? "the one of DATABASE_URL" : "embedded PostgreSQL",
    "Data folder": installation.dataFolder,
    Workspaces: workspaces.length < 1000 ? workspaces.length : "1,000 or more",
    ...(tokenFile === null ? {} : { "Demo token": `in ${tokenFile}` }),
  });
  const hint = hintText({
    address,
    demo,
    requests,
    tokenFile,
    hasWorkspace: workspaces.length > 0,
    hasLink: link !== null,
  });
  const text = `${linkText(link)}\n${indent(facts)}${hint}`;
  terminal.print(document, `\nReturns Analytics API ${VERSION}\n${text}\n`);
}

/**
 * Whoever starts a service with an embedded database can read all of its data. With DATABASE_URL the output is often collected,
 * so people get links from `user link`.
 */
async function makeLink({ installation, database }: Session, origin: string | null): Promise<string | null> {
  if (origin === null || installation.embedded === null) return null;
  const caller = { database, actor: OPERATOR, now: new Date(), consoleOrigin: () => origin };
  const { result } = await runAction(linkUser, caller, textInput({ unseen: "yes" }));
  return result.link.reveal();
}

function linkText(link: string | null): string {
  if (link === null) return "";
  return `\nSee your returns in a browser: open this link. It works once, for 10 minutes; "./returns user link" prints another.\n\n  ${link}\n`;
}

type HintFacts = {
  address: string;
  demo: CreatedDemo | null;
  requests: readonly string[];
  tokenFile: string | null;
  hasWorkspace: boolean;
  hasLink: boolean;
};

function hintText({ address, demo, requests, tokenFile, hasWorkspace, hasLink }: HintFacts): string {
  if (demo !== null) {
    return (
      `\nFor programs, the token of the demo workspace, which is kept in ${demo.tokenFile}:\n\n  ${demo.token}\n\n` +
      `Three requests to paste. ${demo.story}:\n\n${requests.map((request) => `${request}\n`).join("")}`
    );
  }
  if (tokenFile !== null) {
    const request = "/api/v1/leaderboards/return-rate?period=month&limit=3";
    return `\nTry:\n\n${curlLine(address, request, `$(cat ${shellQuoted(tokenFile)})`)}\n`;
  }
  if (hasWorkspace) return "";
  const first = hasLink
    ? "the link leads to a page that creates one"
    : '"./returns workspace create" creates one';
  return `\nThere is no workspace yet: ${first}, and "./returns demo" creates one to try.\n`;
}

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gmu, "  ");
}
