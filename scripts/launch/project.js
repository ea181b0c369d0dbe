// What the launcher's files share: the folders of this checkout, and how it gives up.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const project = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const modules = join(project, "node_modules");
export const platform = `${process.platform}-${process.arch}`;

export function lockHash() {
  return sha256(join(project, "package-lock.json"));
}

export function sha256(file) {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}

export function readText(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

export function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
