import { Command } from "commander";
import { OPTION_HELP } from "../config.ts";
import { PLAIN, formatTable } from "../lib/table.ts";
import { addCommand } from "./command.ts";
import type { CommandGroup, CommandSpec } from "./command.ts";
import { AUDIT } from "./audit.ts";
import { BACKUP } from "./backup.ts";
import { addCompletionCommand } from "./completion.ts";
import { CONNECT } from "./connect.ts";
import { addDemoCommand } from "./demo.ts";
import { CONNECTIONS, DISCONNECT } from "./disconnect.ts";
import { DOCTOR } from "./doctor.ts";
import { describeFailure } from "./failure.ts";
import { IMPORT } from "./import.ts";
import { MEMBER } from "./member.ts";
import { MIGRATE } from "./migrate.ts";
import { PLAN } from "./plan.ts";
import { addQueryCommands } from "./query.ts";
import { RESTORE } from "./restore.ts";
import { REBUILD, RUNS } from "./runs.ts";
import { SALE_EVENT } from "./sale-event.ts";
import { SERVE } from "./serve.ts";
import type { CommandContext } from "./session.ts";
import { SYNC } from "./sync.ts";
import { TOKEN } from "./token.ts";
import { USAGE } from "./usage.ts";
import { USER } from "./user.ts";
import { VERSION } from "../lib/version.ts";
import { WATCH } from "./watch.ts";
import { WORKER } from "./worker.ts";
import { WORKSPACE } from "./workspace.ts";

const EXAMPLES = `Examples:
  ./returns serve
  ./returns workspace create --domain shop.example --currency EUR --plan scale
  ./returns import ./folder --workspace shop.example
  ./returns token create --workspace shop.example --name analyst --scopes read:dashboard,read:reports
  ./returns doctor
`;

/** In the order in which help lists them; the demo, the doctor, queries and completion follow. */
const COMMANDS: readonly (CommandSpec | CommandGroup)[] = [
  SERVE,
  WORKER,
  MIGRATE,
  BACKUP,
  RESTORE,
  WORKSPACE,
  PLAN,
  TOKEN,
  USAGE,
  USER,
  MEMBER,
  AUDIT,
  IMPORT,
  CONNECT,
  DISCONNECT,
  CONNECTIONS,
  SYNC,
  RUNS,
  REBUILD,
  WATCH,
  SALE_EVENT,
];

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
  for (const spec of COMMANDS) addCommand(program, context, spec);
  addDemoCommand(program, context);
  addCommand(program, context, DOCTOR);
  addQueryCommands(program, context);
  addCompletionCommand(program);
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
