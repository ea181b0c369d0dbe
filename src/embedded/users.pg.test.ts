import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  unlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { joinApart, makeClone, projectFolder } from "../../tests/support/embedded-process.ts";
import { copyFolderOf, defaultDataFolder, findPackage, prepareBinaries } from "./cluster.ts";

const isRoot = process.getuid?.() === 0;
const stranger = { uid: 65_533, gid: 65_533 };

let folder: string;

before(() => {
  folder = mkdtempSync(join(tmpdir(), "returns-embedded-"));
  chmodSync(folder, 0o755);
});
after(() => rmSync(folder, { recursive: true, force: true }));

describe("Users", () => {
  test("an ordinary user's server runs as that user, in the project", { skip: !isRoot }, async () => {
    const nobody = { uid: 65_534, gid: 65_534 };
    const clone = join(folder, "ordinary");
    makeClone(clone, nobody);
    chmodSync(clone, 0o700);
    const member = await joinApart(join(clone, ".data"), clone, nobody);
    assert.equal(member.joined.error, undefined);
    assert.equal(statSync(join(clone, ".data/postgresql/data")).uid, nobody.uid);
    assert.equal(statSync(join(clone, ".data")).mode & 0o777, 0o700);
    assert.deepEqual(await member.leave(), { released: true });
  });

  test(
    "root's server runs as another user, also from a clone that only root can enter, and a data folder of somebody else is named",
    { skip: !isRoot },
    async () => {
      const clone = join(folder, "private");
      makeClone(clone, { uid: 0, gid: 0 });
      chmodSync(clone, 0o700);
      const data = join(folder, "data of root");
      const member = await joinApart(data, clone);
      assert.equal(member.joined.error, undefined);
      assert.notEqual(statSync(join(data, "postgresql/data")).uid, 0);
      const [elsewhere, taken] = await Promise.all(
        [join(folder, "new"), data].map((target) => joinApart(target, cloneOfStranger(), stranger)),
      );
      assert.match(elsewhere?.joined.error ?? "", /cannot be used by this user .*EACCES/);
      assert.match(taken?.joined.error ?? "", /cannot be used by this user|belongs to another user/);
      assert.deepEqual(await member.leave(), { released: true });
    },
  );

  test("the default data folder is in the project, and for root in a separate system folder", () => {
    const chosen = defaultDataFolder(projectFolder);
    if (isRoot)
      assert.match(chosen, new RegExp(`^/var/lib/returns-analytics/${basename(projectFolder)}-[0-9a-f]{8}$`));
    else assert.equal(chosen, join(projectFolder, ".data"));
  });
});

test(
  "root is told whose installation a checkout has, before a second one is created",
  { skip: !isRoot },
  () => {
    const checkout = join(folder, "served by another user");
    mkdirSync(join(checkout, ".data/postgresql/data"), { recursive: true });
    assert.match(defaultDataFolder(checkout), /^\/var\/lib\/returns-analytics\//, "root's own is no reason");
    chownSync(join(checkout, ".data/postgresql"), stranger.uid, stranger.gid);
    assert.throws(() => defaultDataFolder(checkout), {
      message: `The data of this installation belongs to another user, in ${checkout}/.data: run this as that user (sudo -u '#${stranger.uid}'), or set RETURNS_DATA_DIR to a folder of your own for a second installation.`,
    });
  },
);

test("a system folder that a user may not enter, such as that of the systemd unit, is not theirs", () => {
  const closed = join(folder, "closed to others");
  mkdirSync(closed, { mode: 0o700 });
  if (isRoot) chownSync(closed, 65_534, 65_534);
  else chmodSync(closed, 0);
  const clone = cloneOfStranger();
  const program = `import { defaultDataFolder } from ${JSON.stringify(join(clone, "src/embedded/cluster.ts"))};
    console.log(defaultDataFolder(${JSON.stringify(clone)}, ${JSON.stringify(closed)}));`;
  const { stdout, stderr } = spawnSync(join(clone, "node"), ["--input-type=module", "-e", program], {
    cwd: "/",
    encoding: "utf8",
    ...(isRoot ? stranger : {}),
  });
  assert.deepEqual([stdout, stderr], [`${realpathSync(clone)}/.data\n`, ""]);
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

function cloneOfStranger(): string {
  const clone = join(folder, "strangers");
  if (!existsSync(clone)) makeClone(clone, stranger);
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
