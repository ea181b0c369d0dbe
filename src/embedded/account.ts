import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** A system user that the server runs as; PostgreSQL refuses to run as root. */
export type Account = { name: string; uid: number; gid: number };

type ProgramEnd = { code: number | null; output: string };

const accountName = "returns-db";

/** The environment of PostgreSQL processes: without variables that could redirect them. */
export const serverEnvironment = {
  PATH: "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
  LC_ALL: "C",
  LANG: "C",
};

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/**
 * The user for a cluster's server: for an ordinary user nobody else (undefined); for root the cluster's owner, and for a new
 * cluster its own system user, or "nobody" if none can be created.
 */
export async function findAccount(clusterFolder: string): Promise<Account | undefined> {
  if (!isRoot()) return undefined;
  const owner = statSync(clusterFolder, { throwIfNoEntry: false });
  if (owner !== undefined) return { name: `user ${owner.uid}`, uid: owner.uid, gid: owner.gid };
  const account = (await lookUp(accountName)) ?? (await createAccount()) ?? (await lookUp("nobody"));
  if (account === undefined) {
    throw new Error(
      "PostgreSQL does not run as root, and no other user could be created: start as an ordinary user.",
    );
  }
  return account;
}

async function createAccount(): Promise<Account | undefined> {
  const nowhere = ["--no-create-home", "--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin"];
  for (let attempt = 0; attempt < 3; attempt++) {
    await run("useradd", ["--system", "--user-group", ...nowhere, accountName], undefined);
    const account = await lookUp(accountName);
    if (account !== undefined) return account;
    // Another process may hold the lock of the user database for a moment.
    await sleep(200);
  }
  return undefined;
}

async function lookUp(name: string): Promise<Account | undefined> {
  const user = await run("id", ["-u", name], undefined);
  const group = await run("id", ["-g", name], undefined);
  if (user.code !== 0 || group.code !== 0) return undefined;
  // macOS prints the negative ids of "nobody" as unsigned, spawn expects them signed.
  return { name, uid: Number(user.output) | 0, gid: Number(group.output) | 0 };
}

/** Makes a folder and its missing parents with the mode, whatever the umask; false = it was there. */
export function makeFolders(folder: string, mode: number): boolean {
  const first = mkdirSync(folder, { recursive: true, mode });
  if (first === undefined) return false;
  for (let made = folder; made.length >= first.length; made = dirname(made)) chmodSync(made, mode);
  return true;
}

export async function canEnter(folder: string, account: Account): Promise<boolean> {
  return (await run("/bin/sh", ["-c", 'cd -- "$1"', "sh", folder], account)).code === 0;
}

/** Runs a program to its end as the given user; a program that cannot be started has the code null. */
export function run(program: string, args: string[], account: Account | undefined): Promise<ProgramEnd> {
  return new Promise((resolve) => {
    // This process's working folder may be inaccessible to the other user.
    const identity = account === undefined ? {} : { uid: account.uid, gid: account.gid };
    const options = { cwd: "/", env: serverEnvironment, ...identity };
    const child = spawn(program, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += String(text)));
    child.on("error", (error) => resolve({ code: null, output: error.message }));
    child.on("close", (code) => resolve({ code, output: output.trim() }));
  });
}
