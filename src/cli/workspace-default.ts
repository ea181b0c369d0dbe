import type { Command } from "commander";

/** What is taken away for good names its workspace itself. */
const WITHOUT_DEFAULT = new Set(["delete"]);

/** Every command that takes a --workspace has this one where none is given. */
export function defaultToWorkspace(program: Command, domain: string | undefined): void {
  if (domain === undefined || domain === "") return;
  for (const command of commandsOf(program)) {
    const option = command.options.find(({ long }) => long === "--workspace");
    if (option === undefined || WITHOUT_DEFAULT.has(command.name())) continue;
    option.default(domain, `${domain}, by RETURNS_WORKSPACE`);
    command.setOptionValueWithSource(option.attributeName(), domain, "default");
  }
}

/** A command and everything below it. */
export function commandsOf(command: Command): Command[] {
  return [command, ...command.commands.flatMap((below) => commandsOf(below))];
}
