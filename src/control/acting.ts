import type { DatabasePool } from "../store/database.ts";
import type { Retention } from "../store/retention.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import type { Workspace } from "../store/workspace.ts";
import type { Keys } from "../lib/keys.ts";
import type { PushOptions } from "../push/send.ts";
import type { Actor } from "./actor.ts";
import type { Connecting } from "../actions/sources/connect.ts";

/** What use cases work with wherever they are called from. */
export type ControlTools = {
  database: DatabasePool;
  keys: Keys;
  connecting: Connecting;
  /** For exports, each of which holds a connection for as long as it is downloaded. */
  exporting: DatabasePool;
  /** How test messages are sent. */
  push: PushOptions;
  /** For what pages say of it; workers apply it. */
  retention: Retention;
};

/** A member who acts on a workspace; `admitted` is what the statements of requests take. */
export type Acting = ControlTools & {
  actor: Actor;
  workspace: WorkspaceRow;
  admitted: Workspace;
  now: Date;
};
