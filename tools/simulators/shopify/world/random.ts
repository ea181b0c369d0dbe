import { mulberry32 } from "../../../../src/demo/random.ts";

/** A stream of random numbers that depends only on its seeds. */
export interface WorldRandom {
  /** From 0 up to, not including, 1. */
  next(): number;
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<Item>(items: readonly Item[]): Item;
}

/** Mulberry32 with a mix of the seeds: every order has its own stream, so that orders do not depend on each other. */
export function randomOf(...seeds: number[]): WorldRandom {
  const next = mulberry32(seeds.reduce((mixed, seed) => mix(mixed ^ mix(seed)), 0x9e3779b9));
  return {
    next,
    between: (low, high) => low + Math.floor(next() * (high - low + 1)),
    chance: (probability) => next() < probability,
    pick: (items) => {
      const item = items[Math.floor(next() * items.length)];
      if (item === undefined) throw new Error("nothing to pick from");
      return item;
    },
  };
}

function mix(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) | 0;
}
