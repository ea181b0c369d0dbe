import assert from "node:assert/strict";
import { test } from "node:test";
import { openControlDatabase } from "./support/control.ts";
import { sendLargeUpload } from "./support/large-upload.ts";

const BYTES = 32_000_000;
/** `npm run chaos -- upload` sends 2 GB, and allows the same. */
const MOST_GROWTH_MB = 200;

test("server and worker take 32 MB in with flat memory", async (context) => {
  const control = await openControlDatabase();
  try {
    const { database, url: databaseUrl } = control;
    const plan = { database, databaseUrl, context, bytes: BYTES, longestImportSeconds: 120 };
    const { status, rows, server, worker, ...times } = await sendLargeUpload(plan);
    context.diagnostic(JSON.stringify({ rows, server, worker, ...times }));
    assert.equal(status, "imported");
    for (const { startMb, mostMb } of [server, worker]) {
      assert.ok(mostMb - startMb <= MOST_GROWTH_MB, `${startMb} MB at first, ${mostMb} MB at most`);
    }
  } finally {
    await control.stop();
  }
});
