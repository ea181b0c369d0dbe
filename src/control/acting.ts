import type { Database, DatabasePool } from "../store/database.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import type { Keys } from "../lib/keys.ts";
import type { Actor } from "./actor.ts";

/** What use cases work with wherever they are called from. */
export type ControlTools = {
  database: Database;
  keys: Keys;
  /** For exports, each of which holds a connection for as long as it is downloaded. */
  exporting: DatabasePool;
};

/** A member who acts on a workspace. */
export type Acting = ControlTools & { actor: Actor; workspace: WorkspaceRow; now: Date };
