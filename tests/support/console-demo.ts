import { join } from "node:path";
import { makeDemo, type Demo } from "../../src/demo/demo-workspace.ts";
import { deriveKeys } from "../../src/lib/keys.ts";
import { openConnections } from "./database.ts";
import { TEST_SECRET } from "./secret.ts";
import { startSeededService, type TestService } from "./service.ts";
import { makeFolder } from "./folder.ts";

/** The demo workspace as a first start creates it, with its alerts and sale events. */
export type ConsoleDemo = { service: TestService; demo: Demo; stop(): Promise<void> };

/** Two years of orders end before this day. */
export const DEMO_DAY = "2026-11-21";

export async function startConsoleDemo(): Promise<ConsoleDemo> {
  const { service, known } = await startSeededService({ name: "console", write: writeDemo });
  return { service, demo: known, stop: () => service.stop() };
}

async function writeDemo(url: string): Promise<Demo> {
  const dataFolder = makeFolder();
  const database = openConnections(url, { maxConnections: 4 });
  try {
    return await makeDemo({
      database,
      dataFolder,
      tokenFile: join(dataFolder, "token"),
      keys: deriveKeys(TEST_SECRET),
      keepFolder: null,
      now: new Date(`${DEMO_DAY}T06:00:00Z`),
      today: DEMO_DAY,
      onProgress: () => {},
    });
  } finally {
    await database.close();
  }
}
