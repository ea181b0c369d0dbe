import type { Command, Option } from "commander";
import { openKeys } from "../actions/installation/secrets.ts";
import { requireWorkspace } from "../actions/workspace/workspace.ts";
import { COMMAND_OPTIONS } from "../config.ts";
import type { Keys } from "../lib/keys.ts";
import { inSession, inUnmigratedSession, type CommandContext, type Session } from "./session.ts";

/** The input of a command; `workspace` only with `forWorkspace`, `keys` with `needsKeys`. */
export type CommandSession = Session & {
  workspace: Awaited<ReturnType<typeof requireWorkspace>>;
  keys: Keys;
  /** Asks before something is destroyed, unless --yes was given. Throws a `Refusal` on a no. */
  confirm: (question: string) => Promise<void>;
};

type Described = {
  name: string;
  summary: string | undefined;
  examples?: readonly string[];
};

/** A command: its help and its function. */
export type CommandSpec = Described & {
  /** The arguments' meanings: `{"<token-id>": "its id"}`. */
  arguments?: Readonly<Record<string, string>>;
  /** Requires --workspace, or its domain as the first word, and that the workspace exists. */
  forWorkspace?: true | "word";
  required?: Readonly<Record<string, string>>;
  options?: Readonly<Record<string, string>>;
  /** Options with a default or a reader. */
  otherOptions?: readonly Option[];
  /** Takes --yes. */
  confirms?: true;
  /** Opens the installation's keys; refuses to run with a secret that the database does not know. */
  needsKeys?: true;
  /** Runs on a schema that is behind, too. */
  takesAnySchema?: true;
  /** Runs before anything is opened or made; receives the arguments, too. */
  prepare?(environment: CommandContext["environment"], ...given: unknown[]): Promise<void>;
  /** Receives the arguments, without the domain of `forWorkspace`, then the options. */
  run(session: CommandSession, ...given: unknown[]): Promise<void>;
};

/** Commands under one word. */
export type CommandGroup = Described & {
  commands: readonly CommandSpec[];
  /** Throws for an unknown command. */
  refuseUnknown?: (word: string) => never;
};

type CommonOptions = { workspace: string; yes?: boolean };

/** Adds a command, or a group with its commands, and returns it. */
export function addCommand(
  parent: Command,
  context: CommandContext,
  spec: CommandSpec | CommandGroup,
): Command {
  const { name, summary, examples = [] } = spec;
  const command = parent.command(name).description(summary ?? "");
  if (examples.length > 0) {
    const title = examples.length === 1 ? "Example" : "Examples";
    command.addHelpText("before", `${title}:\n${examples.map((example) => `  ${example}\n`).join("")}`);
  }
  if ("commands" in spec) {
    const { refuseUnknown } = spec;
    if (refuseUnknown !== undefined) command.on("command:*", ([word = ""]: string[]) => refuseUnknown(word));
    for (const below of spec.commands) addCommand(command, context, below);
    return command;
  }
  if (spec.forWorkspace === "word") command.argument("<domain>", "the workspace's domain");
  for (const [flags, text] of Object.entries(spec.arguments ?? {})) command.argument(flags, text);
  if (spec.forWorkspace === true) command.requiredOption("--workspace <domain>", "the workspace's domain");
  for (const [flags, text] of Object.entries(spec.required ?? {})) command.requiredOption(flags, text);
  for (const [flags, text] of Object.entries(spec.options ?? {})) command.option(flags, text);
  for (const option of spec.otherOptions ?? []) command.addOption(option);
  if (spec.confirms) command.option("--yes", "do not ask");
  defaultToWorkspace(command, context.environment[COMMAND_OPTIONS.workspace.name]);
  const open = spec.takesAnySchema ? inUnmigratedSession : inSession;
  command.action(async (...given: unknown[]) => {
    await spec.prepare?.(context.environment, ...given);
    await open(context, command, (session) => run(spec, session, given.slice(0, -1)));
  });
  return command;
}

/** A command that takes a --workspace has this one where none is given. */
function defaultToWorkspace(command: Command, domain: string | undefined): void {
  const option = command.options.find(({ long }) => long === "--workspace");
  if (option === undefined || domain === undefined || domain === "") return;
  option.default(domain, `${domain}, by RETURNS_WORKSPACE`);
  command.setOptionValueWithSource(option.attributeName(), domain, "default");
}

async function run(spec: CommandSpec, session: Session, given: readonly unknown[]): Promise<void> {
  const { database, installation, terminal, interruption } = session;
  const options = given.at(-1) as CommonOptions;
  const isWord = spec.forWorkspace === "word";
  const domain = isWord ? (given[0] as string) : options.workspace;
  const workspace = spec.forWorkspace === undefined ? null : await requireWorkspace(database, domain);
  const keys = spec.needsKeys ? await openKeys(installation) : null;
  const confirm = async (question: string): Promise<void> => {
    if (options.yes !== true) await terminal.confirm(question, interruption.signal);
  };
  const opened = { workspace, keys } as Pick<CommandSession, "workspace" | "keys">;
  await spec.run({ ...session, ...opened, confirm }, ...given.slice(isWord ? 1 : 0));
}
