import { readFile } from "node:fs/promises";
import { InvalidArgumentError, Option } from "commander";
import { readList, runAction, type Action, type SurfaceCaller, type List } from "../actions/action.ts";
import { OPERATOR } from "../actions/actor.ts";
import { consoleAddress } from "../actions/console-address.ts";
import { readInput, type Field, type Fields, type Given } from "../actions/field.ts";
import { quoted, readInteger } from "../actions/input.ts";
import type { InstallationCaller } from "../actions/installation/actions.ts";
import { impossible, invalid } from "../actions/refusal.ts";
import { pushOptions } from "../alerts/delivery/send.ts";
import { migrateInstallation } from "../installation.ts";
import type { CommandSession, CommandSpec } from "./command.ts";
import { runningAddress } from "./session.ts";
import type { Terminal } from "./terminal.ts";

/** The values that a command passes to its action. */
type CommandCaller = SurfaceCaller & InstallationCaller;

/** The command line of an action. */
type CommandShape<Result> = {
  /** The last word of the action's name unless stated otherwise. */
  name?: string;
  /** Fields that stand without a name, in this order. */
  words?: readonly string[];
  /** Fields that are given as key=value. */
  settings?: readonly string[];
  /** Fields that a file may hold, since they can be secret, each with the help of that option. */
  files?: Readonly<Record<string, string>>;
  examples?: readonly string[];
  /** Prints additional output after the action's sentence. */
  also?: (terminal: Terminal, result: Result) => void;
  /** How it names the workspace; by --workspace unless stated otherwise. */
  forWorkspace?: "word";
  /** Resolves the field `person` to an id. Asks about the person and the action (null: no question) in one question. */
  person?: (session: CommandSession, named: string, question: string | null) => Promise<string>;
};

/** The command of an action: `./returns token revoke <token-id>`. */
export function commandOf<Inputs extends Fields, Result>(
  action: Action<Inputs, Result, CommandCaller>,
  shape: CommandShape<Result> = {},
): CommandSpec {
  const { words = [], settings = [], files = {}, examples = [], forWorkspace = true, also, person } = shape;
  const fields = Object.entries<Field<unknown>>(action.input).filter(([, { only }]) => only !== "form");
  const named = fields.filter(([name]) => ![...words, ...settings].includes(name));
  const flagsOf = (isOptional: boolean) =>
    Object.fromEntries(
      named
        .filter(
          ([name, { isOptional: isLeftOut = name in files, kind }]) =>
            isLeftOut === isOptional && kind !== "lines",
        )
        .map(([name, field]) => [optionFlags(name, field), helpOf(field)]),
    );
  return {
    name: shape.name ?? commandName(action.name),
    summary: action.about,
    examples,
    ...(action.hasNoWorkspace === true ? {} : { forWorkspace }),
    arguments: {
      ...Object.fromEntries(
        fields
          .filter(([name]) => words.includes(name))
          .map(([name, field]) => [argumentOf(name, field), helpOf(field)]),
      ),
      ...(settings.length === 0 ? {} : { "[key=value...]": settingsHelp(action.input, settings) }),
    },
    required: flagsOf(false),
    options: {
      ...flagsOf(true),
      ...Object.fromEntries(
        Object.entries(files).map(([name, help]) => [`--${dashed(name)}-file <file>`, help]),
      ),
    },
    otherOptions: named
      .filter(([, { kind }]) => kind === "lines")
      .map(([name, field]) => repeatable(name, field)),
    ...(action.usesKeys === true ? { needsKeys: true } : {}),
    ...(action.confirm === undefined ? {} : { confirms: true }),
    run: async (session: CommandSession, ...typed: unknown[]) => {
      const assigned = readSettings(action.name, settings, typed[words.length]);
      const given = await givenBy(action.input, { words, assigned, files: Object.keys(files) }, typed);
      const question = action.confirm?.(readInput(action.input, given, new Date()), faceOf(session)) ?? null;
      if (person === undefined && question !== null) await session.confirm(question);
      const id = await person?.(session, given.texts("person")[0] ?? "", question);
      const texts = (name: string) => (name === "person" && id !== undefined ? [id] : given.texts(name));
      const result = await perform(session, action, { ...given, texts });
      also?.(session.terminal, result);
    },
  };
}

function argumentOf(name: string, { isOptional = false }: Field<unknown>): string {
  return isOptional ? `[${dashed(name)}]` : `<${dashed(name)}>`;
}

/** Runs an action as the operator, and prints its result. */
export async function perform<Inputs extends Fields, Result>(
  session: CommandSession,
  action: Action<Inputs, Result, CommandCaller>,
  given: Given,
): Promise<Result> {
  const { terminal } = session;
  const { result, done, secret } = await runAction(action, faceOf(session), given);
  terminal.print(result, `${secret?.reveal() ?? done}\n`);
  if (secret !== undefined) terminal.hint(done);
  return result;
}

function faceOf(session: CommandSession): CommandCaller {
  return { ...callerOf(session), consoleOrigin: () => consoleOrigin(session) };
}

export function callerOf({
  config,
  database,
  installation,
  interruption,
  keys,
  terminal,
  workspace,
}: CommandSession) {
  return {
    database,
    keys,
    push: pushOptions(config),
    workspace,
    actor: OPERATOR,
    now: new Date(),
    secrets: installation,
    signal: interruption.signal,
    onProgress: terminal.showProgress,
    migrate: async () => {
      terminal.showStatus("");
      await migrateInstallation(installation, terminal.tell);
    },
  };
}

/** The address of the console for links that a command prints. Throws a `Refusal` when it is off. */
function consoleOrigin({ config, installation }: CommandSession): string {
  if (!config.hasConsole) throw impossible("The console is off: CONSOLE is set to off.");
  // The running service may have picked a free port.
  const address = installation.embedded === null ? null : runningAddress(installation.dataFolder);
  return consoleAddress(config.publicUrl, address === null ? config.port : new URL(address).port);
}

type ListShape<Row> = {
  name?: string;
  examples?: readonly string[];
  /** Printed in place of a table without rows; `asked`: the text of a filter. */
  none?: (asked: (name: string) => string | undefined) => string;
  /** Prints hints after the table; `isEnd`: there are no more rows. */
  also?: (session: CommandSession, rows: readonly Row[], isEnd: boolean) => unknown;
};

const NO_WORDS = { words: [], assigned: new Map<string, string>(), files: [] };

/** The command of a list: `./returns token list`. */
export function listCommand<Row extends object>(list: List<Row>, shape: ListShape<Row> = {}): CommandSpec {
  const { input = {}, pages, columns } = list;
  const { name = "list", examples = [], none, also } = shape;
  return {
    name,
    summary: list.about,
    examples,
    ...(list.hasNoWorkspace === true ? {} : { forWorkspace: true }),
    options: {
      ...Object.fromEntries(
        Object.entries(input).map(([each, field]) => [optionFlags(each, field), helpOf(field)]),
      ),
      ...(pages && { [`--after <${pages.after[0]}>`]: pages.after[1] }),
    },
    otherOptions:
      pages === undefined
        ? []
        : [
            new Option("--limit <number>", "how many to show").default(
              `${pages.defaultLimit}`,
              `${pages.defaultLimit}`,
            ),
          ],
    run: async (session: CommandSession, options: { after?: string; limit?: string }) => {
      const { terminal } = session;
      const { after = null, limit: text = "1" } = options;
      const limit = readInteger("--limit", text, 1, pages?.most ?? null);
      const given = await givenBy(input, NO_WORDS, [options]);
      const rows = await readList(list, callerOf(session), given, { after, limit });
      const last = rows.at(-1);
      if (last === undefined && none !== undefined)
        terminal.print([], `${none((each) => given.texts(each)[0])}\n`);
      else terminal.printTable(rows, columns);
      if (last !== undefined && pages !== undefined && rows.length === limit)
        terminal.hint(`There may be more: the same command with --after ${pages.cursor(last)}`);
      await also?.(session, rows, rows.length < limit);
    },
  };
}

/** The last word of an action's name: "sale_event.remove" → remove. */
function commandName(name: string): string {
  return dashed(name.slice(name.lastIndexOf(".") + 1));
}

function settingsHelp(inputs: Fields, settings: readonly string[]): string {
  return settings
    .map(
      (name) =>
        `${name}=${inputs[name]?.hint ?? inputs[name]?.choices?.map(([value]) => value).join("|") ?? "<number>"}`,
    )
    .join(", ");
}

/** The settings that were given as key=value. */
function readSettings(action: string, settings: readonly string[], typed: unknown): Map<string, string> {
  if (settings.length === 0) return new Map();
  const assigned = readAssignments(typed as string[]);
  const unknown = [...assigned.keys()].find((name) => !settings.includes(name));
  if (unknown === undefined) return assigned;
  const noun = action.slice(0, action.lastIndexOf("."));
  throw invalid(`${quoted(unknown)} is not a setting of a ${noun}; its settings are ${settings.join(", ")}.`);
}

/** The given values: arguments by position, then settings and commander's options by name, or the content of a file. */
async function givenBy(
  inputs: Fields,
  shape: { words: readonly string[]; assigned: ReadonlyMap<string, string>; files: readonly string[] },
  typed: readonly unknown[],
): Promise<Given> {
  const { words, assigned, files } = shape;
  const options = typed.at(-1) as Readonly<Record<string, unknown>>;
  const held = new Map(assigned);
  for (const name of files) {
    const file = options[camelCase(`${name}_file`)];
    if (typeof file === "string") held.set(name, await readSecretFile(`--${dashed(name)}-file`, file));
  }
  return {
    texts: (name) => {
      const text = held.get(name);
      if (text !== undefined) return [text];
      const place = words.indexOf(name);
      const value = (place >= 0 ? typed[place] : options[camelCase(inputs[name]?.option ?? name)]) as
        | string
        | string[]
        | true
        | undefined;
      if (value === undefined) return [];
      return Array.isArray(value) ? value : [value === true ? "yes" : value];
    },
    subject: (name, { option = name }) => {
      if (assigned.has(name)) return name;
      return words.includes(name) ? `<${dashed(name)}>` : `--${dashed(option)}`;
    },
  };
}

function optionFlags(name: string, field: Field<unknown>): string {
  const { kind, choices, option = name } = field;
  if (kind === "flag") return `--${dashed(option)}`;
  const value =
    kind === "choices" ? "list" : kind === "day" ? "day" : choices === undefined ? "value" : dashed(name);
  return `--${dashed(option)} <${field.placeholder ?? value}>`;
}

function helpOf({ hint, label, choices }: Field<unknown>): string {
  return hint ?? choices?.map(([value]) => value).join(", ") ?? label;
}

function repeatable(name: string, field: Field<unknown>): Option {
  return new Option(`--${dashed(field.option ?? name)} <value>`, `${helpOf(field)} (repeatable)`).argParser(
    (value: string, values: string[] | undefined) => [...(values ?? []), value],
  );
}

const dashed = (name: string): string => name.replaceAll("_", "-");
const camelCase = (name: string): string =>
  name.replaceAll(/_([a-z])/gu, (_all, letter: string) => letter.toUpperCase());

/** The `key=value` arguments of a command, each key once. Throws a usage error. */
export function readAssignments(words: readonly string[]): Map<string, string> {
  const assignments = new Map<string, string>();
  for (const word of words) {
    const [, key, value] = /^([a-z_]+)=(.*)$/su.exec(word) ?? [];
    if (key === undefined || value === undefined) {
      throw new InvalidArgumentError(`Settings have the form key=value; "${word}" does not.`);
    }
    if (assignments.has(key)) throw new InvalidArgumentError(`The setting ${key} is given twice.`);
    assignments.set(key, value.trim());
  }
  return assignments;
}

/** Longer input is a mistake, such as a file of something else. */
const LONGEST_BYTES = 65_536;

/** Sources of a secret: never the command line, which other users of the machine can read. */
export type SecretOptions = { tokenStdin?: boolean; tokenFile?: string };

/** Throws a `Refusal` unless exactly one place is named, and when it cannot be read or is empty. */
export async function readSecret(options: SecretOptions): Promise<string> {
  const { tokenStdin = false, tokenFile } = options;
  if (tokenStdin === (tokenFile !== undefined)) throw invalid("Give one of --token-stdin and --token-file.");
  return tokenFile === undefined ? readStandardInput() : readSecretFile("--token-file", tokenFile);
}

/** A file that holds nothing but the secret. */
export async function readSecretFile(option: string, file: string): Promise<string> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch {
    throw impossible(`The file of ${option} cannot be read.`);
  }
  return required(text, `The file of ${option} is empty.`);
}

async function readStandardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin) {
    chunks.push(chunk as Buffer);
    bytes += (chunk as Buffer).length;
    if (bytes > LONGEST_BYTES) throw invalid("Standard input is too long for a token.");
  }
  return required(Buffer.concat(chunks).toString("utf8"), "There is no token on standard input.");
}

function required(text: string, problem: string): string {
  const secret = text.trim();
  if (secret === "") throw invalid(problem);
  return secret;
}
