import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { takeServiceLock } from "../store/service-lock.ts";
import { impossible } from "./refusal.ts";

/** The right to serve one data folder, held by one process. */
export type ServiceClaim = {
  /** Gives a second start the address of the first one. */
  announce(address: string): void;
  release(): Promise<void>;
};

type ServiceFile = { pid: number; address: string | null };

/** Takes the right to serve a data folder; throws a `Refusal` that says where the one who has it answers. */
export async function claimService(
  installation: { databaseUrl: string; dataFolder: string },
  log: (line: string) => void,
): Promise<ServiceClaim> {
  const file = join(installation.dataFolder, "service.json");
  const lock = await takeServiceLock(installation.databaseUrl, log);
  if (lock === null) throw impossible(describeRunning(readServiceFile(file), installation.dataFolder));
  write({ pid: process.pid, address: null });
  return {
    announce: (address) => write({ pid: process.pid, address }),
    release: async () => {
      rmSync(file, { force: true });
      await lock.release();
    },
  };

  function write(content: ServiceFile): void {
    const draft = `${file}.${process.pid}`;
    writeFileSync(draft, `${JSON.stringify(content)}\n`, { mode: 0o600 });
    renameSync(draft, file);
  }
}

function describeRunning(running: ServiceFile | null, dataFolder: string): string {
  if (running === null) return `The data folder ${dataFolder} is being served by another process already.`;
  const who = `process ${running.pid}`;
  return running.address === null
    ? `Another start with the data folder ${dataFolder} is under way (${who}).`
    : `The service is already running at ${running.address} (${who}, data folder ${dataFolder}).`;
}

function readServiceFile(file: string): ServiceFile | null {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as ServiceFile;
  } catch {
    return null;
  }
}
