import { after } from "node:test";
import { startTestService } from "./service.ts";

/**
 * The one service of a process, with the usual options, on an empty database. The test files of a batch share it: each makes
 * workspaces of its own, and leaves what belongs to the installation as it was.
 */
export const service = await startTestService();

after(() => service.stop());
