import assert from "node:assert/strict";
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { makeFolder } from "../../tests/support/folder.ts";
import { OWNER, ownerMark, removeLeftovers } from "./leftovers.ts";

const NO_PROCESS = 2_147_483_646;

test("what dead processes of this machine left goes at once, what others left after a day, and nothing else", async () => {
  const folder = makeFolder();
  const here = hostname();
  const yesterday = new Date(Date.now() - 25 * 3_600_000);
  const make = (name: string, isOld = false): string => {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, "part"), "");
    if (isOld) utimesSync(join(folder, name), yesterday, yesterday);
    return name;
  };
  const kept = [
    make(`left.${ownerMark()}`),
    make(`left.${process.ppid}-0a1b2c@${here}`),
    make(`left.${NO_PROCESS}-0a1b2c@another`),
    make("left"),
    make("left.other", true),
    make(`other.${NO_PROCESS}-0a1b2c@${here}`, true),
  ];
  make(`left.${NO_PROCESS}-0a1b2c@${here}`);
  // The process before this one in its container.
  make(`left.${process.pid}-0a1b2c@${here}`);
  make(`left.${NO_PROCESS}-1a1b2c@another`, true);
  await removeLeftovers(folder, new RegExp(String.raw`^left(?:\.${OWNER})?$`, "u"));
  assert.deepEqual(readdirSync(folder).toSorted(), kept.toSorted());
});
