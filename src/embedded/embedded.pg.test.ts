import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync } from "node:fs";
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import pg from "pg";
import { joinApart } from "../../tests/support/embedded-process.ts";
import { eventually } from "../../tests/support/worker.ts";
import { type EmbeddedDatabase, joinEmbedded } from "./embedded.ts";

const isRoot = process.getuid?.() === 0;
const settings = { fsync: "off", shared_buffers: "16MB" };

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
  test("two that start at once on a new folder share one server, and the last of two that leave at once stops it", async () => {
    const members = await Promise.all([joinApart(dataFolder), joinApart(dataFolder)]);
    assert.equal(members.filter((member) => member.joined.started).length, 1);
    assert.equal(members[0].joined.url, members[1].joined.url);
    await Promise.all(members.map((member) => member.leave()));
    assert.equal(existsSync(lockFile()), false);
    assert.deepEqual(readdirSync(dataFolder), ["postgresql"]);
  });

  test("the first starts the server, a second joins it, and it runs until both have left", async () => {
    const [first, second] = [await joinHere(), await joinHere()];
    assert.deepEqual([first.started, second.started, second.url], [true, false, first.url]);
    await first.release();
    assert.equal(await ask(first.url, "select current_database()"), "returns");
    await second.release();
    await assert.rejects(ask(first.url, "select 1"), { code: "ECONNREFUSED" });
    assert.equal(existsSync(lockFile()), false);
  });

  test("one that joins while the last one leaves gets a running server", async () => {
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
  test("killing the server and its starter loses no committed data", async () => {
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
    await eventually(
      async () => (await locks(next.url)) === 1,
      "the server gives up the killed one's lock",
      60,
    );
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
    await eventually(async () => serverPid() !== pid && (await isBack()), "the server is back", 60);
    assert.equal(await ask(database.url, "select 1"), 1);
    assert.match(lines.join("\n"), /was lost; reconnecting/);
    // The presence lock must be back as well, or the next line would leave the server running.
    await eventually(async () => (await locks(database.url)) === 1, "the presence lock is back", 60);
    await database.release();
    assert.equal(existsSync(lockFile()), false);
  });

  test("a process that leaves while it starts the server again has stopped it when it has left", async () => {
    const database = await joinHere();
    const pid = serverPid();
    process.kill(pid, "SIGKILL");
    await eventually(async () => serverPid() !== pid, "the server is started again", 60);
    await database.release();
    assert.equal(existsSync(lockFile()), false);
  });

  test("one process has the right to serve, also after the server came back, until it leaves", async () => {
    const first = await joinHere();
    const second = await joinHere();
    assert.deepEqual([await first.claimService(), await second.claimService()], [true, false]);
    const pid = serverPid();
    process.kill(pid, "SIGKILL");
    await eventually(
      // The killed server may answer once more.
      async () => serverPid() !== pid && (await locks(first.url).catch(() => 0)) === 3,
      "both are present again, and one serves",
      60,
    );
    assert.equal(await second.claimService(), false);
    await first.release();
    assert.equal(await second.claimService(), true);
    await second.release();
  });
});

describe("Other logins", () => {
  test("cannot connect to the system databases, even of a cluster that allowed it before", async () => {
    const earlier = await joinHere();
    const system = earlier.url.replace(/returns$/, "postgres");
    await ask(system, "create role visitor login password 'visitor'");
    await ask(system, "grant connect on database postgres, template1 to public");
    await earlier.release();
    const database = await joinHere();
    const visitor = database.url.replace(/\/\/[^@]+@/, "//visitor:visitor@");
    assert.equal(await ask(visitor, "select 1"), 1);
    for (const name of ["postgres", "template1"])
      await assert.rejects(ask(visitor.replace(/returns$/, name), "select 1"), { code: "42501" }, name);
  });

  test("a session that holds the presence lock is named after 10 s", async () => {
    const database = await joinHere();
    const holder = new pg.Client({ connectionString: database.url.replace(/returns$/, "postgres") });
    await holder.connect();
    try {
      await holder.query("select pg_advisory_unlock_all()");
      await holder.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'returns-presence'`,
      );
      await holder.query("select pg_advisory_lock(7382013)");
      const started = Date.now();
      const attempt = joinHere();
      await assert.rejects(
        attempt,
        /cannot be joined \(another session held its lock for 10 s, now process \d+ of returns: end it/,
      );
      assert.ok(Date.now() - started < 20_000);
    } finally {
      await holder.end();
    }
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

/** How many locks of presence and of the right to serve are held. */
async function locks(url: string): Promise<unknown> {
  return ask(url, "select count(*)::integer from pg_locks where locktype = 'advisory' and granted");
}
