import { putLoad, spreadOf } from "./load.ts";
import type { LoadRequest, Spread } from "./load.ts";
import type { MeasuredServer } from "./server-process.ts";

export type Side = { server: MeasuredServer; requests: readonly LoadRequest[] };

export type Comparison = {
  perSecond: Spread;
  floorPerSecond: Spread;
  /** Of each round of the one and the round of the other right after it. */
  ratio: Spread;
  /** CPU microseconds of the server for one request. */
  cpuMicroseconds: Spread;
  floorCpuMicroseconds: Spread;
};

export type Rounds = { rounds: number; seconds: number; connections: number };

/** Until the engine has compiled what is asked often. */
const WARM_UP_SECONDS = 5;

/** Loads both sides in turn, so that what else the machine does meets both. */
export async function compare(side: Side, floor: Side, rounds: Rounds): Promise<Comparison> {
  const sides = [side, floor] as const;
  for (const each of sides) await runRound(each, { ...rounds, seconds: WARM_UP_SECONDS });
  const results: { own: Round; floor: Round }[] = [];
  for (let round = 0; round < rounds.rounds; round += 1) {
    results.push({ own: await runRound(side, rounds), floor: await runRound(floor, rounds) });
  }
  return {
    perSecond: spreadOf(results.map(({ own }) => own.perSecond)),
    floorPerSecond: spreadOf(results.map((result) => result.floor.perSecond)),
    ratio: spreadOf(results.map((result) => result.own.perSecond / result.floor.perSecond)),
    cpuMicroseconds: spreadOf(results.map(({ own }) => own.cpuMicroseconds)),
    floorCpuMicroseconds: spreadOf(results.map((result) => result.floor.cpuMicroseconds)),
  };
}

type Round = { perSecond: number; cpuMicroseconds: number };

async function runRound({ server, requests }: Side, { connections, seconds }: Rounds): Promise<Round> {
  const before = server.usage().cpuSeconds;
  const outcome = await putLoad({
    address: server.address,
    requests,
    connections,
    seconds,
    ratePerSecond: null,
  });
  const cpuMicroseconds = ((server.usage().cpuSeconds - before) / outcome.requests) * 1e6;
  return { perSecond: outcome.perSecond, cpuMicroseconds };
}
