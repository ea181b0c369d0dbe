import { resolve } from "node:path";
import { OPERATOR } from "../control/actor.ts";
import { readInteger } from "../control/input.ts";
import { addSecretOfFile, replaceOwnSecret, retireSecret, showRootSecrets } from "../control/root-secrets.ts";
import type { AddedSecret } from "../control/root-secrets.ts";
import type { CommandGroup, CommandSession } from "./command.ts";

export const SECRET: CommandGroup = {
  name: "secret",
  summary: "The root secret: add a new one, then retire the old one. Tokens keep working.",
  commands: [
    {
      name: "add",
      summary: "Add a new secret; the others stay valid.",
      arguments: {
        "[file]":
          "holds the new secret; created if it does not exist. Default without RETURNS_SECRET: the data folder's file is replaced",
      },
      examples: ["./returns secret add", "RETURNS_SECRET_FILE=./secret ./returns secret add ./secret-2"],
      run: async ({ installation, terminal }: CommandSession, file: string | undefined) => {
        const added = await (file === undefined
          ? replaceOwnSecret(installation, OPERATOR)
          : addSecretOfFile(installation, OPERATOR, resolve(file)));
        const state = added.is_new ? "is valid from now on" : "was valid already";
        terminal.print(added, `Version ${added.version} ${state}. Its secret is in ${added.file}.\n`);
        for (const hint of nextSteps(added)) terminal.hint(hint);
      },
    },
    {
      name: "retire",
      summary: "Refuse a secret at every start from now on; running processes continue.",
      arguments: { "<version>": "its version, from `secret list`" },
      confirms: true,
      examples: [
        "./returns secret retire 1",
        "RETURNS_SECRET_FILE=./secret-2 ./returns secret retire 1 --yes",
      ],
      run: async ({ installation, terminal, confirm }: CommandSession, word: string) => {
        const version = readInteger("The version", word, 1, null);
        await confirm(`Every start with version ${version} of the secret will be refused. Retire it?`);
        const { retired_at: retiredAt, changed } = await retireSecret(installation, OPERATOR, version);
        terminal.print(
          { version, retired_at: retiredAt, changed },
          `Version ${version} was retired at ${retiredAt?.toISOString()}.\n`,
        );
        terminal.hint(
          "Backups made before can only be restored with that secret: keep it for as long as you keep them.",
        );
      },
    },
    {
      name: "list",
      summary: "Show the versions of the secret, and which one this command uses; never a secret.",
      run: async ({ installation, terminal }) =>
        terminal.printTable(await showRootSecrets(installation), {
          version: "version",
          state: ({ retired_at: retiredAt }) => (retiredAt === null ? "valid" : "retired"),
          added: "created_at",
          retired: "retired_at",
          "of this command": ({ is_own: isOwn }) => (isOwn ? "yes" : null),
        }),
    },
  ],
};

function nextSteps({ version, version_before: before, file, kept_file: keptFile }: AddedSecret): string[] {
  if (version === before) return ["This command uses that secret already: there is nothing to change."];
  const retire = `./returns secret retire ${before}`;
  if (keptFile !== null) {
    return [
      `Running processes continue; new ones use version ${version}. Version ${before} is kept in ${keptFile}, for backups made before.`,
      `Then: ${retire}`,
    ];
  }
  return [
    `Processes that run with version ${before} continue. Restart every server and worker with RETURNS_SECRET_FILE=${file}, one after the other.`,
    `Then, also with the new secret: ${retire}`,
  ];
}
