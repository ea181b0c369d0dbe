import type { Database } from "../store/database.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import type { Keys } from "../lib/keys.ts";
import type { Actor } from "./actor.ts";
import type { Connecting } from "./connect-form.ts";

/** What use cases work with wherever they are called from. */
export type ControlTools = { database: Database; keys: Keys; connecting: Connecting };

/** A member who acts on a workspace. */
export type Acting = ControlTools & { actor: Actor; workspace: WorkspaceRow; now: Date };
