import type { Database } from "../store/database.ts";
import { tryLockExport } from "../store/queries/export.ts";
import type { Retention } from "../store/retention.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import { exportStore } from "../sync/connectors/csv/export-files.ts";
import type { ExportedFile } from "../sync/connectors/csv/export-files.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import { describingFiles, STORE_FOLDER } from "./export-texts.ts";
import { requireRight } from "./rights.ts";
import { impossible } from "./refusal.ts";
import { requireWorkspace } from "./workspace.ts";

export type ExportRequest = {
  database: Database;
  /** Holds a connection for as long as the files are read. */
  reading: Database;
  actor: Actor;
  workspace: WorkspaceRow;
  now: Date;
  /** For what the export says of its audit. */
  retention: Retention;
  /** Ends the export, whose statement is then canceled. */
  signal: AbortSignal;
};

/**
 * Hands the files of a workspace to `use`, all from one snapshot, each to be read once and in their order. The export is
 * audited before the first of them. Throws a `Refusal` while another export of the workspace is under way.
 */
export async function exportWorkspace(
  { database, reading, actor, workspace, now, retention, signal }: ExportRequest,
  use: (files: readonly ExportedFile[]) => Promise<void>,
): Promise<void> {
  requireRight(actor, "workspace.export");
  const { shop_key: shopKey, shop_domain: shopDomain } = workspace;
  await reading.longSnapshot(
    shopKey,
    async (connection) => {
      if (!(await tryLockExport(connection, shopKey))) {
        throw impossible(`${shopDomain} is being exported already. Try again when that has ended.`);
      }
      // What is handed out in part is handed out: this stays, whatever becomes of the rest.
      await database.transaction((writing) =>
        recordAction(writing, actor, {
          shopKey,
          action: "workspace.export",
          detail: { shop_domain: shopDomain },
        }),
      );
      const found = await requireWorkspace(connection, shopDomain);
      const store = await exportStore(connection, { shopKey, currencyCode: found.currency_code });
      const inFolder = store.map(({ name, content }) => ({ name: `${STORE_FOLDER}/${name}`, content }));
      await use([...describingFiles(connection, found, { now, retention }), ...inFolder]);
    },
    signal,
  );
}
