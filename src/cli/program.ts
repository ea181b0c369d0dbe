import { Command } from "commander";
import { OPTION_HELP } from "../config.ts";
import { PLAIN, formatTable } from "../lib/table.ts";
import { VERSION } from "../lib/version.ts";
import { addCommand, type CommandGroup, type CommandSpec } from "./command.ts";
import { describeFailure } from "./failure.ts";
import type { CommandContext } from "./session.ts";

const EXAMPLES = `Examples:
  ./returns serve
  ./returns workspace create --domain shop.example --currency EUR --plan scale
  ./returns import ./folder --workspace shop.example
  ./returns token create --workspace shop.example --name analyst --scopes read:dashboard,read:reports
  ./returns doctor
`;

type AddCommand = (program: Command, context: CommandContext) => Promise<void>;

const added =
  (load: () => Promise<CommandSpec | CommandGroup>): AddCommand =>
  async (program, context) =>
    void addCommand(program, context, await load());

/** In the order in which help lists them. A command's own modules are loaded when it is run. */
export const COMMANDS: Readonly<Record<string, AddCommand>> = {
  serve: added(async () => (await import("./serve.ts")).SERVE),
  worker: added(async () => (await import("./serve.ts")).WORKER),
  migrate: added(async () => (await import("./backup.ts")).MIGRATE),
  backup: async (program, context) => (await import("./backup.ts")).addBackupCommands(program, context),
  restore: added(async () => (await import("./backup.ts")).RESTORE),
  workspace: added(async () => (await import("./workspace.ts")).WORKSPACE),
  plan: added(async () => (await import("./nouns.ts")).planCommands()),
  token: added(async () => (await import("./nouns.ts")).tokenCommands()),
  usage: added(async () => (await import("./usage.ts")).USAGE),
  user: added(async () => (await import("./people.ts")).USER),
  member: added(async () => (await import("./people.ts")).MEMBER),
  audit: added(async () => (await import("./nouns.ts")).auditCommand()),
  import: added(async () => (await import("./import.ts")).IMPORT),
  connect: added(async () => (await import("./sources.ts")).CONNECT),
  disconnect: added(async () => (await import("./sources.ts")).DISCONNECT),
  connections: added(async () => (await import("./sources.ts")).CONNECTIONS),
  sync: added(async () => (await import("./sources.ts")).SYNC),
  runs: added(async () => (await import("./sources.ts")).RUNS),
  rebuild: added(async () => (await import("./sources.ts")).REBUILD),
  watch: added(async () => (await import("./nouns.ts")).watchCommands()),
  notify: added(async () => (await import("./nouns.ts")).notifyCommands()),
  "sale-event": added(async () => (await import("./nouns.ts")).saleEventCommands()),
  demo: async (program, context) => (await import("./demo.ts")).addDemoCommand(program, context),
  doctor: added(async () => (await import("./doctor.ts")).DOCTOR),
  query: async (program, context) => (await import("./query.ts")).addQueryCommands(program, context),
  export: async (program, context) => (await import("./export.ts")).addExportCommand(program, context),
  completion: async (program) => (await import("./completion.ts")).addCompletionCommand(program),
};

/** Their texts name every command. */
const NEEDS_ALL = "completion";

/** Runs one command line; resolves to the exit code: 0 done, 1 not done, 2 not understood. */
export async function runProgram(words: readonly string[], context: CommandContext): Promise<number> {
  const isJson = words.includes("--json");
  try {
    await (await createProgram(context, words)).parseAsync(words, { from: "user" });
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

function isHelp(error: unknown): boolean {
  return (error as { exitCode?: unknown }).exitCode === 0;
}

/** The program with the command that the words name, else with all of them. */
export async function createProgram(context: CommandContext, words: readonly string[]): Promise<Command> {
  const program: Command = new Command("returns")
    .description("Runs and manages the Returns Analytics API.")
    .version(VERSION)
    .option("--json", "print one JSON document on standard output, errors as JSON on standard error")
    .configureHelp({
      showGlobalOptions: true,
      // Not those of the commands between, such as --keep of `backup` for `backup verify`.
      visibleGlobalOptions: ({ parent }) => (parent === null ? [] : [...program.options]),
    })
    // The message is printed once, by runProgram.
    .configureOutput({ outputError: () => {} })
    .exitOverride()
    .addHelpText("before", EXAMPLES)
    .addHelpText("after", environmentHelp);
  const name = words.find((word) => !word.startsWith("-")) ?? "";
  const named = name !== NEEDS_ALL && Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  for (const add of named === undefined ? Object.values(COMMANDS) : [named]) await add(program, context);
  return program;
}

function environmentHelp(): string {
  const rows = OPTION_HELP.map(({ name, defaultText, help }) =>
    [name, defaultText, help].map((cell) => cell.replaceAll("`", "")),
  );
  const style = { ...PLAIN, widthCharacters: process.stdout.columns ?? null };
  return `\nEnvironment variables:\n${formatTable(["name", "default", "meaning"], rows, style)}`;
}
