import type { Connection, Database, Queryable } from "../../src/store/database.ts";
import { listCohortMonths } from "../../src/store/queries/dirty-month.ts";
import { createStage } from "../../src/store/queries/import-stage.ts";
import { analyzeTable, FACT_TABLES } from "../../src/store/queries/statistics.ts";
import { deriveCatalogue } from "../../src/sync/catalogue.ts";
import { rebuildCohorts } from "../../src/sync/cohorts.ts";
import { copyWorkspace } from "./crowd.ts";
import { writeStoreLines } from "./store-lines.ts";
import { AS_OF, CROWD_WORKSPACES, CURRENCY, FIRST_MONTH, LAST_MONTH, planOf } from "./store-plan.ts";
import type { StoreKind, StorePlan } from "./store-plan.ts";
import { addWorkspace, openWorkspace } from "./workspaces.ts";
import type { LoadedWorkspace } from "./workspaces.ts";

export type StoreOptions = {
  kind: StoreKind;
  /** Of the installation that will serve the store: `context.keys.tokenPepper`. */
  tokenPepper: Buffer;
  /** Default: enterprise, which counts no requests. */
  planKey?: string;
  /** Another size than the kind's own, another seed. */
  change?: Partial<StorePlan>;
  /** crowd only; 1000 unless told. */
  workspaces?: number;
  /** crowd only; false leaves the copies without lines and events, which requests hardly need. */
  withFacts?: boolean;
  tell?: (line: string) => void;
};

export type LoadedStore = {
  kind: StoreKind;
  plan: StorePlan;
  /** The first of a crowd is the original. */
  workspaces: [LoadedWorkspace, ...LoadedWorkspace[]];
  /** YYYY-MM; the last but one is the latest complete month of the primary window. */
  firstMonth: string;
  lastMonth: string;
  asOf: Date;
  currencyCode: string;
  /** The entities with the most lines, which cost a query most; `tailSku` sells about once a month or less. */
  examples: {
    sku: string;
    productGid: string;
    family: string;
    category: string;
    vendor: string;
    tailSku: string;
  };
};

/**
 * Loads a store into a migrated database: catalogue, facts, prepared answers, a token for each workspace. There are no
 * order documents, so `rebuild` would empty it. The same options give the same rows. All or nothing but the crowd's
 * copies.
 */
export async function loadStore(database: Database, options: StoreOptions): Promise<LoadedStore> {
  const { kind, tokenPepper, planKey = "enterprise", tell = () => {} } = options;
  const plan = planOf(kind, options.change ?? {});
  const original = await database.transaction((connection) =>
    loadWorkspace(connection, plan, { domain: `${kind}.example`, planKey, tokenPepper }, tell),
  );
  const copies =
    kind === "crowd"
      ? await copyWorkspace(database, original, {
          planKey,
          tokenPepper,
          tell,
          count: (options.workspaces ?? CROWD_WORKSPACES) - 1,
          withFacts: options.withFacts ?? true,
        })
      : [];
  await analyzeFacts(database, original.shopKey);
  await database.rows(WRITE_TO_DISK, []);
  return {
    kind,
    plan,
    workspaces: [original, ...copies],
    firstMonth: FIRST_MONTH,
    lastMonth: LAST_MONTH,
    asOf: AS_OF,
    currencyCode: CURRENCY,
    examples: {
      sku: "SK000000",
      productGid: "gid://shopify/Product/7000000000000",
      family: "Family 00",
      category: "Category 00",
      vendor: "Vendor 00",
      tailSku: `SK${String(plan.skus - 2).padStart(6, "0")}`,
    },
  };
}

async function analyzeFacts(database: Queryable, shopKey: number): Promise<void> {
  for (const table of FACT_TABLES) await analyzeTable(database, shopKey, table);
}

/** Otherwise the server would write what was loaded in the minutes that follow, while requests are measured. */
const WRITE_TO_DISK = { name: "bench_write_to_disk", text: "checkpoint" };

async function loadWorkspace(
  connection: Connection,
  plan: StorePlan,
  options: { domain: string; planKey: string; tokenPepper: Buffer },
  tell: (line: string) => void,
): Promise<LoadedWorkspace> {
  const workspace = await addWorkspace(connection, options);
  const { shopKey } = workspace;
  tell(`Writing ${plan.lines.toLocaleString("en")} order lines of ${options.domain}.`);
  await writeStoreLines(connection, shopKey, plan);
  await analyzeFacts(connection, shopKey);
  tell("Deriving the catalogue.");
  await createStage(connection);
  await deriveCatalogue(connection, shopKey, await listCatalogue(connection, shopKey));
  tell("Preparing the answers.");
  await rebuildCohorts(connection, shopKey, await listCohortMonths(connection, shopKey));
  await openWorkspace(connection, shopKey);
  return workspace;
}

/** Every line names a product and a SKU of the catalogue, so the lines need not be read for them. */
async function listCatalogue({ client }: Connection, shopKey: number) {
  const keysOf = async (select: string): Promise<Set<string>> => {
    const { rows } = await client.query<{ key: string }>(select, [shopKey]);
    return new Set(rows.map(({ key }) => key));
  };
  return {
    products: await keysOf("select product_gid as key from product where shop_key = $1"),
    skus: await keysOf("select sku as key from variant where shop_key = $1"),
  };
}
