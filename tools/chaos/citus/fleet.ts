import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { serviceEnvironment } from "../../../tests/support/service.ts";
import type { Store } from "./shops.ts";

/** Servers behind a balancer that watches /readyz, and workers: real processes of one checkout or of several. */
export type Fleet = {
  /** Those that were added and not stopped. */
  servers: ReadonlySet<Server>;
  workers: ReadonlySet<Member>;
  /** A server to ask next: one that says it is ready, as long as any does. */
  address(): string;
  /** Returns once it takes requests. */
  addServer(checkout?: string): Promise<Server>;
  addWorker(checkout?: string): Promise<Member>;
  /** Processes that ended by themselves, one sentence each. */
  ended(): string[];
  /** How often a server said it was not ready since the last call, unless it was being stopped. */
  takeUnready(): number;
  stop(): Promise<void>;
};

/** `stop` ends it as an operator does, and resolves to its exit code. */
export type Member = { stop(): Promise<number | null> };
export type Server = Member & { address: string };

export const PROJECT = join(import.meta.dirname, "../../..");
const PROBE_MS = 200;
/** Of a server that is being stopped: the balancer has seen that it is no longer ready. */
const DRAIN_SECONDS = "2";

export function startFleet(databaseUrl: string, store: Store): Fleet {
  const { clientId, clientSecret } = store.simulator.options;
  const environment = {
    ...serviceEnvironment(databaseUrl),
    LOG_LEVEL: "silent",
    SHOPIFY_CLIENT_ID: clientId,
    SHOPIFY_CLIENT_SECRET: clientSecret,
    DRAIN_SECONDS,
  };
  const members: { child: ChildProcess; name: string; isStopping: boolean }[] = [];
  const servers = new Set<Server>();
  const workers = new Set<Member>();
  const ready = new Map<string, boolean>();
  let turn = 0;
  let unready = 0;

  const begin = (name: string, file: string, words: string[]) => {
    const child = spawn(process.execPath, [file, ...words], {
      env: { PATH: process.env["PATH"], ...environment },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const member = { child, name, isStopping: false };
    members.push(member);
    const lines = createInterface({ input: child.stdout });
    const firstLine = Promise.race([
      once(lines, "line").then(([line]) => line as string),
      once(child, "exit").then(([code]) => Promise.reject(new Error(`the ${name} ended with ${code}`))),
    ]);
    const stop = async (): Promise<number | null> => {
      member.isStopping = true;
      const ending = once(child, "exit");
      child.kill("SIGTERM");
      const [code] = (await ending) as [number | null];
      return code;
    };
    return { firstLine, stop, member };
  };
  const probe = async (address: string, member: { isStopping: boolean }): Promise<void> => {
    while (ready.has(address)) {
      const answer = await fetch(`${address}/readyz`).catch(() => null);
      await answer?.arrayBuffer();
      const isReady = answer?.ok === true;
      if (!isReady && !member.isStopping) unready += 1;
      if (ready.has(address)) ready.set(address, isReady);
      await sleep(PROBE_MS);
    }
  };
  return {
    servers,
    workers,
    address: () => {
      const all = [...ready.keys()];
      const takers = all.filter((address) => ready.get(address) === true);
      const chosen = takers.length === 0 ? all : takers;
      return chosen[(turn += 1) % chosen.length] ?? "";
    },
    addServer: async (checkout = PROJECT) => {
      const { firstLine, stop, member } = begin(
        "server",
        join(checkout, "tests/support/server-entry.ts"),
        [],
      );
      const { address } = JSON.parse(await firstLine) as { address: string };
      ready.set(address, true);
      void probe(address, member);
      const server: Server = {
        address,
        stop: async () => {
          servers.delete(server);
          const code = await stop();
          ready.delete(address);
          return code;
        },
      };
      servers.add(server);
      return server;
    },
    addWorker: async (checkout = PROJECT) => {
      const { firstLine, stop } = begin("worker", join(checkout, "src/cli/main.ts"), ["worker"]);
      await firstLine;
      const worker: Member = {
        stop: () => {
          workers.delete(worker);
          return stop();
        },
      };
      workers.add(worker);
      return worker;
    },
    ended: () =>
      members
        .filter(({ child, isStopping }) => !isStopping && (child.exitCode ?? child.signalCode) !== null)
        .map(({ name, child }) => `a ${name} ended with ${child.exitCode ?? child.signalCode}`),
    takeUnready: () => {
      const count = unready;
      unready = 0;
      return count;
    },
    stop: async () => {
      ready.clear();
      for (const { child } of members) child.kill("SIGKILL");
      await sleep(PROBE_MS);
    },
  };
}
