import assert from "node:assert/strict";
import { runCommand } from "./command.ts";
import type { Outcome } from "./command.ts";

type Environment = Record<string, string>;

/** Runs commands, and keeps everything that they write. */
export type SecretCommands = {
  written: () => string;
  run: (words: readonly string[], of: Environment) => Promise<Outcome>;
  /** What the command prints with --json; fails when the command does. */
  documentOf: (words: readonly string[], of: Environment) => Promise<Record<string, unknown>>;
  /** Version, state, and whether it is the environment's own, of each root secret. */
  listed: (of: Environment) => Promise<[number, "valid" | "retired", boolean][]>;
};

type Listed = { version: number; retired_at: string | null; is_own: boolean };

export const DOMAIN = "secrets.example";
export const CREATE_WORKSPACE = [
  "workspace",
  "create",
  "--domain",
  DOMAIN,
  "--currency",
  "EUR",
  "--plan",
  "scale",
];
/** Needs the keys. */
export const CREATE_TOKEN = [
  "token",
  "create",
  "--workspace",
  DOMAIN,
  "--name",
  "n",
  "--scopes",
  "read:dashboard",
];

export function createSecretCommands(): SecretCommands {
  let written = "";
  const run = async (words: readonly string[], of: Environment): Promise<Outcome> => {
    const outcome = await runCommand(words, of);
    written += outcome.stdout + outcome.stderr;
    return outcome;
  };
  const documentOf = async (words: readonly string[], of: Environment): Promise<Record<string, unknown>> => {
    const { code, stdout, stderr } = await run([...words, "--json"], of);
    assert.equal(code, 0, `${words.join(" ")}: ${stderr}`);
    return JSON.parse(stdout) as Record<string, unknown>;
  };
  return {
    written: () => written,
    run,
    documentOf,
    listed: async (of) => {
      const secrets = (await documentOf(["secret", "list"], of)) as unknown as Listed[];
      return secrets.map(({ version, retired_at: at, is_own: isOwn }) => [
        version,
        at === null ? "valid" : "retired",
        isOwn,
      ]);
    },
  };
}
