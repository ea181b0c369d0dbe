import { OPERATOR } from "../../src/actions/actor.ts";
import { importIntoWorkspace } from "../../src/actions/uploads/actions.ts";
import { requireWorkspace } from "../../src/actions/workspace/workspace.ts";
import type { UploadStatus } from "../../src/actions/uploads/queries.ts";
import { csv, DUMP, withFolder, type FolderFiles } from "./import-workspace.ts";
import { scene } from "./scene.ts";
import type { TestService } from "./service.ts";
import type { Tenant } from "./tenants.ts";
import { uploadClient, type Sender, type UploadClient } from "./upload.ts";
import { eventually, withWorker, workerOptions } from "./worker.ts";

/** A workspace without data, and its owner, who uploads. */
export type UploadWorkspace = { tenant: Tenant; sender: Sender; client: UploadClient };

export async function openUploadWorkspace(service: TestService): Promise<UploadWorkspace> {
  const tenant = await scene({ on: service, readiness: "installing", dataAsOf: null });
  const { shopDomain } = tenant;
  const { cookie } = await tenant.member("owner", `Owner of ${shopDomain}`);
  const sender = { address: service.address, cookie, shopDomain };
  return { tenant, sender, client: uploadClient(sender) };
}

/** A small store of three orders, two of them returned. */
export const SMALL_FOLDER: FolderFiles = {
  "products.csv": csv("product_id,title,vendor", "p1,Lamp,Nord", "p2,Shade,Nord"),
  "order_lines.csv": csv(
    "order_id,line_id,ordered_at,product_id,sku,units,unit_price",
    "o1,l1,2026-01-05T10:00:00Z,p1,LAMP,3,20.00",
    "o2,l1,2026-02-06T10:00:00Z,p2,SHADE,2,10.00",
    "o3,l1,2026-03-07T10:00:00Z,p1,LAMP,1,20.00",
  ),
  "returns.csv": csv(
    "return_id,order_id,line_id,status,units,closed_at,reason",
    "r1,o1,l1,CLOSED,2,2026-01-15T10:00:00Z,too dim",
    "r2,o2,l1,CLOSED,1,2026-02-16T10:00:00Z,broken",
  ),
};

/** Runs a worker until the upload's import has ended; returns its status. */
export async function importedBy(
  service: TestService,
  { tenant }: Pick<UploadWorkspace, "tenant">,
  id: string,
): Promise<UploadStatus> {
  const control = { database: service.installation.database, url: service.databaseUrl };
  let status: UploadStatus = "waiting";
  await withWorker(workerOptions(control, []), async () => {
    status = await eventually(async () => endOf(service, tenant, id), "the import of the upload", 60);
  });
  return status;
}

/** The final status of an upload; null = it has not ended. */
export async function endOf(
  service: Pick<TestService, "database">,
  { shopKey }: Pick<Tenant, "shopKey">,
  id: string,
): Promise<UploadStatus | null> {
  const { rows } = await service.database.query<{ status: UploadStatus }>(
    "select status from import_upload where shop_key = $1 and upload_id = $2",
    [shopKey, id],
  );
  const status = rows[0]?.status ?? "expired";
  return status === "waiting" || status === "importing" ? null : status;
}

/** Imports files as the command does. */
export async function importByCommand(
  service: TestService,
  { tenant }: Pick<UploadWorkspace, "tenant">,
  files: FolderFiles,
  asOf: Date,
): Promise<void> {
  const { database } = service.installation;
  const workspace = await requireWorkspace(database, tenant.shopDomain);
  const request = { asOf, now: new Date(), skipInvalid: false, onProgress: () => {} };
  await withFolder(files, (folder) =>
    importIntoWorkspace(database, OPERATOR, workspace, { folder, ...request }),
  );
}

/** Every row of a workspace's data by table. */
export async function dataOf(
  { database }: Pick<TestService, "database">,
  { shopKey }: Pick<Tenant, "shopKey">,
): Promise<Record<string, unknown[]>> {
  const { rows } = await database.query<Record<string, unknown[]>>(DUMP, [shopKey]);
  return rows[0] ?? {};
}
