import { randomBytes } from "node:crypto";
import { readdir, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";

const given = new Set<string>();

/** The suffix of a temporary name that identifies the process behind it, such as 4711-a1b2c3@host; `OWNER` matches it in a pattern. */
export function ownerMark(): string {
  const mark = `${process.pid}-${randomBytes(3).toString("hex")}@${hostname()}`;
  given.add(mark);
  return mark;
}

export const OWNER = String.raw`(?<owner>(?<pid>\d{1,10})-[0-9a-f]{6}@(?<host>[^@]+))`;

const DAY_MS = 86_400_000;

/**
 * Removes what killed processes have left in a folder under names of this pattern: of this machine at once, of others and without
 * an owner after a day.
 */
export async function removeLeftovers(parent: string, pattern: RegExp): Promise<void> {
  for (const name of await readdir(parent).catch(() => [])) {
    const found = pattern.exec(name);
    if (found === null) continue;
    const path = join(parent, name);
    const { owner = "", pid, host } = found.groups ?? {};
    const isDead = host === hostname() && !isAlive(Number(pid), owner);
    const { mtimeMs = Date.now() } = (await stat(path).catch(() => null)) ?? {};
    if (isDead || Date.now() - mtimeMs > DAY_MS)
      await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}

/** In a container, a process often has the number of the previous one. One of another user cannot be signaled, but exists. */
function isAlive(pid: number, owner: string): boolean {
  if (pid === process.pid) return given.has(owner);
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
