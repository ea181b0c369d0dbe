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
} from "node:fs";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { NODE_PACKAGE, withCheckout } from "./support/launch-checkout.ts";
import type { Checkout } from "./support/launch-checkout.ts";

/** As a full disk leaves it: npm's own link leads to half a program, first in the PATH of every script. */
function breakNode({ folder, node }: Checkout): void {
  rmSync(node, { force: true });
  copyFileSync(process.execPath, node);
  truncateSync(node, 5_000_000);
  chmodSync(node, 0o755);
  const commands = join(folder, "node_modules/.bin");
  mkdirSync(commands, { recursive: true });
  symlinkSync(`../${NODE_PACKAGE}/bin/node`, join(commands, "node"));
}

suite("the first start", { concurrency: 2 }, () => {
  test("installs the packages, runs on the packaged Node.js, and leaves none on npm's path", async () => {
    await withCheckout({ registry: "open", pinned: "26.0.0" }, async (checkout) => {
      const first = await checkout.run("npm start");
      assert.equal(first.code, 0, first.output);
      assert.match(first.output, /Installing packages…\n[^]*runs on v26/u);
      assert.ok(!existsSync(join(checkout.folder, "node_modules/.bin/node")));
      assert.ok(!existsSync(join(checkout.folder, "node_modules/tested")));
      assert.ok(!(await checkout.run("npm start")).output.includes("Installing"));
    });
  });

  test("a Node.js that was cut off is installed again, though npm's scripts meet it first", async () => {
    await withCheckout({ registry: "open", pinned: "26.0.0" }, async (checkout) => {
      await checkout.run("npm test");
      breakNode(checkout);
      const healed = await checkout.run("npm start");
      assert.equal(healed.code, 0, healed.output);
      assert.match(
        healed.output,
        /The packaged Node\.js is damaged\.\nInstalling packages…\n[^]*runs on v26/u,
      );
      assert.ok(existsSync(join(checkout.folder, "node_modules/tested")), "what npm test installed is kept");
      assert.ok(!(await checkout.run("npm test")).output.includes("Installing"));
    });
  });

  test("an installation that lacks a file, which npm calls a success, is not used", async () => {
    await withCheckout({ registry: "open", pinned: "26.0.0", hasUnwritable: true }, async (checkout) => {
      const { code, output } = await checkout.run("npm start --silent");
      assert.equal(code, 1, output);
      assert.match(
        output,
        /^Installing packages…\nPackages cannot be installed in [^\n]*: ENAMETOOLONG[^\n]*\.\n$/u,
      );
      assert.deepEqual(readdirSync(join(checkout.folder, "node_modules")), []);
    });
  });

  test("development packages are added beside what a service may be running on", async () => {
    await withCheckout({ registry: "open", pinned: "26.0.0" }, async (checkout) => {
      const served = join(checkout.folder, "node_modules/served");
      await checkout.run("npm start");
      const before = statSync(served).ino;
      const added = await checkout.run("npm test");
      assert.match(added.output, /Installing development packages for this command…/u);
      assert.ok(existsSync(join(checkout.folder, "node_modules/tested/index.js")));
      assert.equal(statSync(served).ino, before);
    });
  });

  for (const registry of ["closed", "silent"] as const) {
    test(`without a network (a ${registry} registry) it says so in one sentence, long before npm would give up`, async () => {
      await withCheckout({ registry, pinned: "26.0.0" }, async (checkout) => {
        const { code, output, seconds } = await checkout.run("npm start --silent");
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
});

if (process.platform === "linux") {
  suite("a system that lacks what Node.js needs", () => {
    /** The real program, in which the name of the library is one that no system has. */
    const withoutLibrary = async (checkout: Checkout): Promise<void> => {
      const first = await checkout.run("npm start");
      assert.equal(first.code, 0, first.output);
      const program = readFileSync(process.execPath);
      const at = program.indexOf("libatomic.so.1\0");
      assert.ok(at > 0);
      program.write("libatomic.so.9", at);
      rmSync(checkout.node);
      writeFileSync(checkout.node, program, { mode: 0o755 });
    };

    test("names the library and the command that installs it", async () => {
      await withCheckout({ registry: "open", pinned: "99.0.0" }, async (checkout) => {
        await withoutLibrary(checkout);
        const { code, output } = await checkout.run("npm start --silent");
        assert.equal(code, 1, output);
        assert.match(
          output,
          /^Node\.js 99 needs libatomic\.so\.9, which this system lacks: install it with ".*libatomic.*", or start this with Node\.js 99 or newer \(this is v[\d.]+\)\.\n$/u,
        );
      });
    });

    test("is served by its own Node.js where that is new enough", async () => {
      await withCheckout({ registry: "open", pinned: "26.0.0" }, async (checkout) => {
        await withoutLibrary(checkout);
        const { code, output } = await checkout.run(
          `"${process.execPath}" scripts/launch.js src/cli/main.ts`,
        );
        assert.equal(code, 0, output);
        assert.ok(output.endsWith(`of ${process.execPath}\n`), output);
      });
    });
  });
}
