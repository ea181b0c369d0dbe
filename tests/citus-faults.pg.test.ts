import assert from "node:assert/strict";
import { test } from "node:test";
import { missingCitus } from "../tools/chaos/cluster.ts";
import { run } from "../tools/chaos/part.ts";

test(
  "a Citus cluster loses nodes, moves shards and is upgraded while it serves",
  {
    skip: missingCitus() ?? false,
  },
  async (context) => {
    for (const { name, observed, problems } of await run((line) => context.diagnostic(line))) {
      context.diagnostic(`${name}: ${observed.filter((words) => words !== "").join("; ")}`);
      await context.test(name, () => assert.deepEqual(problems, []));
    }
  },
);
