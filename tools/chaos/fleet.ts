import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { serviceEnvironment } from "../../tests/support/service.ts";
import type { SimulatedStore } from "./shops.ts";

const PROJECT = join(import.meta.dirname, "../..");
const PROBE_MS = 200;
/** How long a stopping server still answers, until the balancer has seen that it is not ready. */
const DRAIN_SECONDS = "2";

/** `stop` ends it as an operator does. */
type Member = { name: string; child: ChildProcess; isStopping: boolean; stop(this: void): Promise<void> };
export type Fleet = ReturnType<typeof startFleet>;

/** Servers behind a balancer that watches /readyz, and workers: real processes of one checkout or of several. */
export function startFleet(databaseUrl: string, { simulator: { options } }: SimulatedStore) {
  const environment = {
    ...serviceEnvironment(databaseUrl),
    LOG_LEVEL: "silent",
    SHOPIFY_CLIENT_ID: options.clientId,
    SHOPIFY_CLIENT_SECRET: options.clientSecret,
    DRAIN_SECONDS,
  };
  const members: Member[] = [];
  /** Whether each server takes requests, by its address. */
  const ready = new Map<string, boolean>();
  let turn = 0;
  let unready = 0;

  /** Resolves to the process and its first output. */
  const begin = async (name: string, file: string, words: string[] = []): Promise<[Member, string]> => {
    const child = spawn(process.execPath, [file, ...words], {
      env: { PATH: process.env["PATH"], ...environment },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const member: Member = {
      name,
      child,
      isStopping: false,
      stop: async () => {
        member.isStopping = true;
        const ending = once(child, "exit");
        child.kill("SIGTERM");
        await ending;
      },
    };
    members.push(member);
    const [line] = (await Promise.race([
      once(createInterface({ input: child.stdout }), "line"),
      once(child, "exit").then(([code]) => Promise.reject(new Error(`the ${name} ended with ${code}`))),
    ])) as [string];
    return [member, line];
  };
  const probe = async (address: string, member: Member): Promise<void> => {
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
    /** Added processes that were not stopped. */
    running: (name: "server" | "worker"): Member[] =>
      members.filter((member) => member.name === name && !member.isStopping),
    /** The server for the next request: a ready one, as long as there is any. */
    address: (): string => {
      const all = [...ready.keys()];
      const takers = all.filter((address) => ready.get(address) === true);
      const chosen = takers.length === 0 ? all : takers;
      return chosen[(turn += 1) % chosen.length] ?? "";
    },
    /** Resolves once it takes requests. */
    addServer: async (checkout = PROJECT): Promise<void> => {
      const [member, line] = await begin("server", join(checkout, "tests/support/server-entry.ts"));
      const { address } = JSON.parse(line) as { address: string };
      const { stop } = member;
      member.stop = async () => {
        await stop();
        ready.delete(address);
      };
      ready.set(address, true);
      void probe(address, member);
    },
    addWorker: async (checkout = PROJECT): Promise<void> => {
      await begin("worker", join(checkout, "src/cli/main.ts"), ["worker"]);
    },
    /** Processes that ended by themselves, one sentence each. */
    ended: (): string[] =>
      members
        .filter(({ child, isStopping }) => !isStopping && (child.exitCode ?? child.signalCode) !== null)
        .map(({ name, child }) => `a ${name} ended with ${child.exitCode ?? child.signalCode}`),
    /** How often a server reported that it was not ready since the last call, except while it was being stopped. */
    takeUnready: (): number => {
      const count = unready;
      unready = 0;
      return count;
    },
    stop: async (): Promise<void> => {
      ready.clear();
      for (const { child } of members) child.kill("SIGKILL");
      await sleep(PROBE_MS);
    },
  };
}
