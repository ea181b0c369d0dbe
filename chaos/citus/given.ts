import { spawn } from "node:child_process";
import { once } from "node:events";

/** A server of the cluster, as Citus names it. */
export type Place = { host: string; port: number };

/** What the environment gives: addresses, and the commands for what SQL cannot do. */
export type Given = {
  /** Of a database with the extension on the coordinator, as a superuser. */
  coordinatorUrl: string;
  /** A server with the extension that belongs to no cluster. */
  spare: Place;
  /** Stops a server at once, as a crash does. */
  stop(place: Place): Promise<void>;
  /** Starts it again; resolves once the command has ended. */
  start(place: Place): Promise<void>;
};

const NAMES = {
  url: "RETURNS_CHAOS_CITUS_URL",
  spare: "RETURNS_CHAOS_CITUS_SPARE",
  stop: "RETURNS_CHAOS_CITUS_STOP",
  start: "RETURNS_CHAOS_CITUS_START",
};

/** Why the part cannot run here; null = it can. */
export function missingCitus(): string | null {
  const missing = Object.values(NAMES).filter((name) => (process.env[name] ?? "") === "");
  if (missing.length === 0) return null;
  return `citus needs ${missing.join(", ")}: the addresses of a cluster and commands that stop and start its servers (CONTRIBUTING.md).`;
}

export function readGiven(): Given {
  const value = (name: string): string => process.env[name] ?? "";
  const [host = "", port = "5432"] = value(NAMES.spare).split(":");
  return {
    coordinatorUrl: value(NAMES.url),
    spare: { host, port: Number(port) },
    stop: (place) => runFor(value(NAMES.stop), place),
    start: (place) => runFor(value(NAMES.start), place),
  };
}

/** Runs a shell command that finds the server in HOST and PORT. */
async function runFor(command: string, { host, port }: Place): Promise<void> {
  const env = { ...process.env, HOST: host, PORT: String(port) };
  const child = spawn(command, { shell: true, stdio: ["ignore", "ignore", "inherit"], env });
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`The command for ${host}:${port} ended with ${code}: ${command}`);
}
