import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { impossible } from "../actions/refusal.ts";

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
