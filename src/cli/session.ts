import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { needsMigration, requireCurrentSchema } from "../actions/installation/schema.ts";
import { impossible } from "../actions/refusal.ts";
import { readConfig, type Config } from "../config.ts";
import { migrateInstallation, openInstallation, type Installation } from "../installation.ts";
import { listenForInterruption, type Interruption } from "./interruption.ts";
import { createTerminal, type Terminal } from "./terminal.ts";

/** The time that an interrupted command has to clean up. */
const LONGEST_STOP_MS = 15_000;
/** Of a command that only sends requests. */
const BRIEF_STOP_MS = 1000;

/** The input of the command groups from `main`. */
export type CommandContext = { environment: Readonly<Record<string, string | undefined>> };

/** The tools of a command. */
export type Session = {
  config: Config;
  installation: Installation;
  database: Installation["database"];
  terminal: Terminal;
  interruption: Interruption;
};

/** The terminal, configured by the command's options and the environment. */
export function terminalOf(context: CommandContext, command: Command): Terminal {
  const { json } = command.optsWithGlobals<{ json?: boolean }>();
  const { TERM, NO_COLOR } = context.environment;
  return createTerminal({ isJson: json === true, isDumb: TERM === "dumb", isPlain: Boolean(NO_COLOR) });
}

/**
 * Runs a command on an installation with a current schema. The embedded database is joined, or started temporarily, and migrated;
 * that of DATABASE_URL is migrated only on request.
 */
export async function inSession(
  context: CommandContext,
  command: Command,
  work: (session: Session) => Promise<void>,
): Promise<void> {
  await inUnmigratedSession(context, command, async (session) => {
    const { installation, terminal } = session;
    if (installation.embedded !== null && (await needsMigration(session.database))) {
      await migrateInstallation(installation, terminal.tell);
    }
    await requireCurrentSchema(session.database);
    await work(session);
  });
}

/** The same, whatever the schema. */
export async function inUnmigratedSession(
  context: CommandContext,
  command: Command,
  work: (session: Session) => Promise<void>,
): Promise<void> {
  const config = readConfig(context.environment);
  const longestStopMs = LONGEST_STOP_MS + config.drainSeconds * 1000;
  await withTools(context, command, { longestStopMs }, async ({ terminal, interruption }) => {
    let isClosing = false;
    // The last process to leave stops the embedded database; the lost connections are expected then.
    const log = (line: string): void => {
      if (!isClosing) terminal.tell(line);
    };
    const installation = await openInstallation(config, log);
    try {
      interruption.check();
      await work({ config, installation, database: installation.database, terminal, interruption });
    } finally {
      isClosing = true;
      await installation.close();
    }
  });
}

/** Runs a command, then clears its status line. What fails because of a signal ends as `Interrupted`. */
export async function withTools(
  context: CommandContext,
  command: Command,
  { longestStopMs = LONGEST_STOP_MS, isBrief = false }: { longestStopMs?: number; isBrief?: boolean },
  work: (tools: Pick<Session, "terminal" | "interruption">) => Promise<void>,
): Promise<void> {
  const terminal = terminalOf(context, command);
  const onFirst = (): void => {
    if (!isBrief) terminal.hint("Stopping…");
  };
  const interruption = listenForInterruption(onFirst, isBrief ? BRIEF_STOP_MS : longestStopMs);
  try {
    await work({ terminal, interruption });
  } catch (error) {
    interruption.check();
    throw error;
  } finally {
    terminal.showStatus("");
    interruption.end();
  }
}

/** The right to serve one data folder, which a process holds until it leaves the embedded database. */
type ServiceClaim = {
  /** Gives a second start the address of the first one. */
  announce(address: string): void;
  /** Withdraws the announcement. */
  release(): void;
};

type ServiceFile = { pid: number; address: string | null };

/** Claims a data folder for serving; throws a `Refusal` with the address of the process that has it. */
export async function claimService(
  database: { claimService(): Promise<boolean> },
  dataFolder: string,
): Promise<ServiceClaim> {
  const file = fileOf(dataFolder);
  if (!(await database.claimService())) throw impossible(describeRunning(readServiceFile(file), dataFolder));
  write({ pid: process.pid, address: null });
  return {
    announce: (address) => write({ pid: process.pid, address }),
    release: () => rmSync(file, { force: true }),
  };

  function write(content: ServiceFile): void {
    const draft = `${file}.${process.pid}`;
    writeFileSync(draft, `${JSON.stringify(content)}\n`, { mode: 0o600 });
    renameSync(draft, file);
  }
}

/** Where the service of a data folder answers; null = none is running, or it is still starting. */
export function runningAddress(dataFolder: string): string | null {
  return readServiceFile(fileOf(dataFolder))?.address ?? null;
}

function fileOf(dataFolder: string): string {
  return join(dataFolder, "service.json");
}

function describeRunning(running: ServiceFile | null, dataFolder: string): string {
  if (running === null) return `The data folder ${dataFolder} is being served by another process already.`;
  const who = `process ${running.pid}`;
  return running.address === null
    ? `Another process is already starting with the data folder ${dataFolder} (${who}).`
    : `The service is already running at ${running.address} (${who}, data folder ${dataFolder}).`;
}

function readServiceFile(file: string): ServiceFile | null {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as ServiceFile;
  } catch {
    return null;
  }
}
