import { resolve } from "node:path";
import type { Command } from "commander";
import { demoTokenFile, makeDemo, writeDemoFolder } from "../demo/demo-workspace.ts";
import type { Demo, DemoStoreRequest } from "../demo/demo-workspace.ts";
import { readDay, readInteger } from "../actions/input.ts";
import { openKeys } from "../actions/installation/secrets.ts";
import type { Interruption } from "./interruption.ts";
import { inSession, withTools, type CommandContext, type Session } from "./session.ts";
import type { Terminal } from "./terminal.ts";

/** The demo workspace that a start has just created, for its output. */
export type CreatedDemo = {
  token: string;
  tokenFile: string;
  /** The story of the printed requests, as a sentence without its full stop. */
  story: string;
  /** Paths with queries that return data. */
  requests: string[];
};

type DemoOptions = { today?: string; seed?: string; keepFolder?: string; writeFolder?: string };

const MAXIMUM_SEED = 2_147_483_647;

export function addDemoCommand(program: Command, context: CommandContext): void {
  program
    .command("demo")
    .description("Create the demo workspace, or fill it again: two years of a generated store.")
    .option("--today <day>", "the store's two years end before this day, YYYY-MM-DD (default: today)")
    .option("--seed <number>", "a different number generates a different store")
    .option("--keep-folder <folder>", "keep the generated import folder here")
    .option("--write-folder <folder>", "only write the import folder; nothing is imported")
    .addHelpText(
      "before",
      "Examples:\n  ./returns demo\n  ./returns demo --write-folder ./demo-store --today 2026-07-01\n",
    )
    .action(async (options: DemoOptions, command: Command) => {
      const { writeFolder } = options;
      if (writeFolder !== undefined) {
        await withTools(context, command, {}, async ({ terminal, interruption }) => {
          const request = storeRequest(options, terminal, interruption);
          const store = await writeDemoFolder(resolve(writeFolder), request);
          terminal.print(store, `${store.folder}\n`);
        });
        return;
      }
      await inSession(context, command, async (session) => {
        const demo = await createDemo(session, options);
        const document = { workspace: demo.domain, token_file: demo.tokenFile, store: demo.store };
        session.terminal.printFields({ workspace: demo.domain, token: `in ${demo.tokenFile}` }, document);
      });
    });
}

/** Makes the demo workspace and chooses requests that show what happened in it. */
export async function createDemo(
  session: Session,
  options: DemoOptions,
): Promise<CreatedDemo & { domain: string; store: Demo["store"] }> {
  const { database, installation, terminal, interruption } = session;
  const startedAtMs = Date.now();
  const { store, token, domain } = await makeDemo({
    ...storeRequest(options, terminal, interruption),
    database,
    dataFolder: installation.dataFolder,
    tokenFile: demoTokenFile(installation),
    keys: await openKeys(installation),
    keepFolder: options.keepFolder === undefined ? null : resolve(options.keepFolder),
    now: new Date(),
  });
  const seconds = ((Date.now() - startedAtMs) / 1000).toFixed(1);
  terminal.hint(
    `The demo workspace ${domain} has ${store.orders.toLocaleString("en")} orders (${seconds} s).`,
  );
  return { token: token.token, tokenFile: token.file, domain, store, ...storyOf(store) };
}

function storeRequest(
  options: DemoOptions,
  terminal: Terminal,
  interruption: Interruption,
): DemoStoreRequest {
  return {
    today: readDay("--today", options.today ?? new Date().toISOString().slice(0, 10)),
    seed: options.seed === undefined ? undefined : readInteger("--seed", options.seed, 0, MAXIMUM_SEED),
    onProgress: (label, done, total) => {
      interruption.check();
      terminal.showProgress(label, done, total);
    },
  };
}

/** The bad batch: one SKU that came back far more often than the months before. */
function storyOf({ badBatch }: Demo["store"]): Pick<CreatedDemo, "story" | "requests"> {
  const sku = encodeURIComponent(badBatch.sku);
  const month = badBatch.cohortMonth;
  const range = `start_month=${month}&end_month=${month}`;
  return {
    story: `${badBatch.sku} (${badBatch.title}) had a bad batch in ${month}`,
    requests: [
      `/api/v1/summary?sku=${sku}&${range}`,
      "/api/v1/leaderboards/return-rate?period=month&limit=3",
      `/api/v1/report?sku=${sku}&${range}&reportSection=reasons`,
    ],
  };
}
