import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const FILES_PER_BATCH = 12;
const SHARED_SERVICE = "tests/support/shared-service.ts";

/**
 * Calls `use` with entries that run several test files each, one after the other in one process: to start Node.js and load what
 * a file tests takes longer than the tests of most. Each file is a suite of its own, whose hooks are its own. Neighbours go to
 * different batches, because what takes long is often beside its like.
 */
export async function withBatches<Result>(
  files: readonly string[],
  project: string,
  use: (entries: string[]) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "returns-test-batches-"));
  try {
    const count = Math.ceil(files.length / FILES_PER_BATCH);
    const entries = Array.from({ length: count }, (_, batch) => {
      const entry = join(folder, `batch-${batch + 1}.test.mjs`);
      writeFileSync(
        entry,
        entryOf(
          files.filter((_file, index) => index % count === batch),
          project,
        ),
      );
      return entry;
    });
    return await use(entries);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function entryOf(files: readonly string[], project: string): string {
  const addressOf = (file: string): string => JSON.stringify(pathToFileURL(join(project, file)).href);
  const usesShared = files.some((file) =>
    readFileSync(join(project, file), "utf8").includes("shared-service.ts"),
  );
  // What suites share is loaded before them: it would belong to the first of them otherwise, and end with it.
  const shared = usesShared ? `import ${addressOf(SHARED_SERVICE)};\n` : "";
  const suites = files.map(
    (file) => `suite(${JSON.stringify(file)}, async () => { await import(${addressOf(file)}); });\n`,
  );
  return `${shared}import { suite } from "node:test";\n${suites.join("")}`;
}
