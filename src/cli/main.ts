import { Command } from "commander";
import { COMMAND_OPTIONS, OPTION_HELP } from "../config.ts";
import { PLAIN, formatTable } from "../lib/table.ts";
import { addCompletionCommand } from "./completion.ts";
import { addConnectCommands } from "./connect.ts";
import { addDemoCommand } from "./demo.ts";
import { addConnectionCommands } from "./disconnect.ts";
import { addDoctorCommand } from "./doctor.ts";
import { describeFailure } from "./failure.ts";
import { addImportCommand } from "./import.ts";
import { addMigrateCommand } from "./migrate.ts";
import { addPlanCommands } from "./plan.ts";
import { addQueryCommands } from "./query.ts";
import { addRebuildCommand } from "./rebuild.ts";
import { addRunsCommand } from "./runs.ts";
import { addSaleEventCommands } from "./sale-event.ts";
import { addServeCommand } from "./serve.ts";
import type { CommandContext } from "./session.ts";
import { addSyncCommand } from "./sync.ts";
import { addTokenCommands } from "./token.ts";
import { VERSION } from "../lib/version.ts";
import { defaultToWorkspace } from "./workspace-default.ts";
import { addWatchCommands } from "./watch.ts";
import { addWorkerCommand } from "./worker.ts";
import { addWorkspaceCommands } from "./workspace.ts";

const EXAMPLES = `Examples:
  ./returns serve
  ./returns workspace create --domain shop.example --currency EUR --plan scale
  ./returns import ./folder --workspace shop.example
  ./returns token create --workspace shop.example --name analyst --scopes read:dashboard,read:reports
  ./returns doctor
`;

/** Runs one command line; resolves to the exit code: 0 done, 1 not done, 2 not understood. */
async function main(words: readonly string[], context: CommandContext): Promise<number> {
  const isJson = words.includes("--json");
  try {
    await createProgram(context).parseAsync(words, { from: "user" });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    if (isHelp(error)) return 0;
    const { message, exitCode, isUnexpected, apiError = { message } } = describeFailure(error);
    if (message !== "")
      process.stderr.write(isJson ? `${JSON.stringify({ error: apiError })}\n` : `${message}\n`);
    const wantsDetail = ["debug", "trace"].includes(context.environment["LOG_LEVEL"] ?? "");
    if (isUnexpected && wantsDetail) process.stderr.write(`${(error as Error).stack}\n`);
    return exitCode;
  }
}

function createProgram(context: CommandContext): Command {
  const program = new Command("returns")
    .description("Runs and manages the Returns Analytics API.")
    .version(VERSION)
    .option("--json", "print one JSON document on standard output, errors as JSON on standard error")
    .configureHelp({ showGlobalOptions: true })
    // The message is printed once, by main.
    .configureOutput({ outputError: () => {} })
    .exitOverride()
    .addHelpText("before", EXAMPLES)
    .addHelpText("after", environmentHelp);
  addServeCommand(program, context);
  addWorkerCommand(program, context);
  addMigrateCommand(program, context);
  addWorkspaceCommands(program, context);
  addPlanCommands(program, context);
  addTokenCommands(program, context);
  addImportCommand(program, context);
  addConnectCommands(program, context);
  addConnectionCommands(program, context);
  addSyncCommand(program, context);
  addRunsCommand(program, context);
  addRebuildCommand(program, context);
  addWatchCommands(program, context);
  addSaleEventCommands(program, context);
  addDemoCommand(program, context);
  addDoctorCommand(program, context);
  addQueryCommands(program, context);
  addCompletionCommand(program);
  defaultToWorkspace(program, context.environment[COMMAND_OPTIONS.workspace.name]);
  return program;
}

function environmentHelp(): string {
  const rows = OPTION_HELP.map(({ name, defaultText, help }) =>
    [name, defaultText, help].map((cell) => cell.replaceAll("`", "")),
  );
  const style = { ...PLAIN, widthCharacters: process.stdout.columns ?? null };
  return `\nOptions of the environment:\n${formatTable(["name", "default", "meaning"], rows, style)}`;
}

function isHelp(error: unknown): boolean {
  return (error as { exitCode?: unknown }).exitCode === 0;
}

// A reader that has seen enough (| head) is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});
// The entry point is where the environment comes in; everything below is given it.
// oxlint-disable-next-line no-restricted-properties
process.exitCode = await main(process.argv.slice(2), { environment: process.env });
