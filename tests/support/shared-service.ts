import { sharedService } from "./scene.ts";

/** The service that the test files of a process share; `scene` makes workspaces on it. */
export const service = await sharedService();
