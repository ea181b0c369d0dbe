import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folders: string[] = [];
process.on("exit", () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** An empty folder, removed when the process of the tests ends. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "returns-test-"));
  folders.push(folder);
  return folder;
}
