import { sendLargeUpload } from "../../tests/support/large-upload.ts";
import { withDatabase } from "./database.ts";
import type { Finding } from "./database.ts";

const BYTES = 2 * 1024 ** 3;
const MOST_GROWTH_MB = 200;
const LONGEST_IMPORT_SECONDS = 1800;

/** The largest upload that is allowed; the memory of the server that takes it in and of the worker that imports it. */
export function run(log: (line: string) => void): Promise<Finding[]> {
  return withDatabase(log, async ({ url, database }) => {
    const ends: (() => unknown)[] = [];
    try {
      log("sending 2 GB in 512 parts");
      const { status, rows, server, worker, sendSeconds, importSeconds } = await sendLargeUpload({
        databaseUrl: url,
        database,
        context: { after: (end) => void ends.push(end as () => unknown) },
        bytes: BYTES,
        longestImportSeconds: LONGEST_IMPORT_SECONDS,
      });
      const grewMb = Math.max(server.mostMb - server.startMb, worker.mostMb - worker.startMb);
      return [
        {
          name: `an upload of 2 GB: imported, server and worker grow by at most ${MOST_GROWTH_MB} MB`,
          held: status === "imported" && grewMb <= MOST_GROWTH_MB,
          observed:
            `${status}, ${rows.toLocaleString("en")} rows; sent in ${Math.round(sendSeconds)} s, server ${server.startMb} to ` +
            `${server.mostMb} MB; imported in ${Math.round(importSeconds)} s, worker ${worker.startMb} to ${worker.mostMb} MB`,
        },
      ];
    } finally {
      for (const end of ends) end();
    }
  });
}
