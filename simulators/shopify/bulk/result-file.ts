import { open } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { randomOf } from "../world/random.ts";
import type { Random } from "../world/random.ts";

/** Lines that are shuffled among each other at a time. */
const BLOCK_LINES = 2000;
/** Share of a block's lines that are held back into a later one, so that children stand before and far from parents. */
const HELD_SHARE = 0.05;
/** Without a later block to go to, held lines go at the end. */
const DAMAGED_SHARE = 0.02;

/** Some lines come twice: beside the others, or in the place of others. */
export type Damage = "duplicate" | "swapped";

export interface ResultFile {
  add: (line: string, isRoot: boolean) => void;
  /** Whether enough is held to be worth writing. */
  full(): boolean;
  flush(): Promise<void>;
  /** Writes what is left; returns the file's size and counts. */
  finish(): Promise<{ bytes: number; lines: number; roots: number }>;
}

/** A JSON lines file in shuffled order, written in bounded memory. */
export async function createResultFile(
  path: string,
  seed: number,
  damage: Damage | null,
): Promise<ResultFile> {
  const file = await open(path, "w");
  const random = randomOf(seed, 3);
  let block: string[] = [];
  let bytes = 0;
  let lines = 0;
  let roots = 0;
  const write = async (rows: string[]): Promise<void> => {
    bytes += await append(file, rows);
  };
  return {
    add: (line, isRoot) => {
      const isDamaged = damage !== null && random.chance(DAMAGED_SHARE);
      block.push(isDamaged && damage === "swapped" ? (block.at(-1) ?? line) : line);
      if (isDamaged && damage === "duplicate") block.push(line);
      lines += 1;
      if (isRoot) roots += 1;
    },
    full: () => block.length >= BLOCK_LINES,
    flush: async () => {
      shuffle(block, random);
      const held = block.splice(Math.ceil(block.length * (1 - HELD_SHARE)));
      const rows = block;
      block = held;
      await write(rows);
    },
    finish: async () => {
      shuffle(block, random);
      await write(block);
      await file.close();
      return { bytes, lines, roots };
    },
  };
}

async function append(file: FileHandle, rows: string[]): Promise<number> {
  if (rows.length === 0) return 0;
  const data = Buffer.from(`${rows.join("\n")}\n`);
  await file.appendFile(data);
  return data.length;
}

function shuffle(rows: string[], random: Random): void {
  for (let index = rows.length - 1; index > 0; index -= 1) {
    const other = random.between(0, index);
    const row = rows[index] as string;
    rows[index] = rows[other] as string;
    rows[other] = row;
  }
}
