import { join } from "node:path";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { makeDemo } from "../../src/control/demo.ts";
import type { Demo } from "../../src/control/demo.ts";
import { startTestService } from "./service.ts";
import type { TestService } from "./service.ts";

/** The demo workspace as a first start makes it, with its alerts and sale events. */
export type ConsoleDemo = { service: TestService; demo: Demo; stop(): Promise<void> };

/** Two years of orders end before this day. */
const DEMO_DAY = "2026-11-21";

export async function startConsoleDemo(): Promise<ConsoleDemo> {
  const dataFolder = await mkdtemp(join(tmpdir(), "returns-console-"));
  const service = await startTestService();
  const stop = async (): Promise<void> => {
    await service.stop();
    await rm(dataFolder, { recursive: true, force: true });
  };
  try {
    const { database, keys } = service.installation;
    const demo = await makeDemo({
      database,
      dataFolder,
      tokenFile: join(dataFolder, "token"),
      pepper: keys.tokenPepper,
      keepFolder: null,
      now: new Date(`${DEMO_DAY}T06:00:00Z`),
      today: DEMO_DAY,
      onProgress: () => {},
    });
    return { service, demo, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
