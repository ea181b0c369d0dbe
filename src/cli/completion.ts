import { Argument, type Command } from "commander";

const SHELLS = ["bash", "zsh", "fish"] as const;

/** zsh understands the completions of bash. */
const ZSH_START = `(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
autoload -Uz bashcompinit && bashcompinit
`;

/** Possible completions of a command: `path` is its words, each with a blank before it. */
type Place = { path: string; words: string[]; choices: [option: string, values: readonly string[]][] };

export function addCompletionCommand(program: Command): void {
  program
    .command("completion")
    .description("Print the script for shell completion.")
    .addArgument(new Argument("<shell>", "the shell that reads it").choices(SHELLS))
    .addHelpText(
      "before",
      "Examples:\n" +
        '  eval "$(./returns completion bash)"       in ~/.bashrc, with the path to the checkout\n' +
        '  eval "$(./returns completion zsh)"        in ~/.zshrc\n' +
        "  ./returns completion fish | source        in ~/.config/fish/config.fish\n",
    )
    .action((shell: (typeof SHELLS)[number]) => {
      process.stdout.write(completionScript(shell, placesOf(program)));
    });
}

function completionScript(shell: (typeof SHELLS)[number], places: readonly Place[]): string {
  switch (shell) {
    case "bash":
      return bashScript(places);
    case "zsh":
      return `${ZSH_START}${bashScript(places)}`;
    case "fish":
      return fishScript(places);
  }
}

export function placesOf(program: Command): Place[] {
  const globals = program.options.flatMap(({ long }) => long ?? []);
  return commandsOf(program).map((command) => {
    const options = command.options.filter(({ hidden }) => !hidden);
    const own = options.flatMap(({ long }) => long ?? []);
    const values = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
    const below = command.commands.map((child) => child.name());
    return {
      path: pathOf(command),
      words: [...new Set([...below, ...values, ...own, ...globals, "--help"])],
      choices: options.flatMap(({ long, argChoices }): Place["choices"] =>
        long !== undefined && argChoices !== undefined ? [[long, argChoices]] : [],
      ),
    };
  });
}

/** A command and everything below it. */
function commandsOf(command: Command): Command[] {
  return [command, ...command.commands.flatMap(commandsOf)];
}

function pathOf(command: Command): string {
  return command.parent === null ? "" : `${pathOf(command.parent)} ${command.name()}`;
}

/** Follows the words so far down the commands; any other word is an option or its value. */
function bashScript(places: readonly Place[]): string {
  const commands = places.filter(({ path }) => path !== "").map(({ path }) => `"${path}"`);
  const choices = places.flatMap(({ path, choices: ofPlace }) =>
    ofPlace.map(([option, values]) => `    "${path} ${option}") words="${values.join(" ")}" ;;`),
  );
  const words = places.map((place) => `    "${place.path}") words="${place.words.join(" ")}" ;;`);
  return `_returns() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" place="" words="" index
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "$place \${COMP_WORDS[index]}" in
      ${commands.join(" | ")}) place="$place \${COMP_WORDS[index]}" ;;
    esac
  done
  case "$place $before" in
${choices.join("\n")}
  esac
  if [[ -z $words ]]; then case "$place" in
${words.join("\n")}
  esac; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _returns returns
`;
}

function fishScript(places: readonly Place[]): string {
  const commands = places.filter(({ path }) => path !== "").map(({ path }) => `'${path}'`);
  const lines = places.map(
    ({ path, words }) =>
      `complete -c returns -n 'test "$(__returns_place)" = "${path}"' -a '${words.join(" ")}'`,
  );
  const choices = places.flatMap(({ path, choices: ofPlace }) =>
    ofPlace.map(
      ([option, values]) =>
        `complete -c returns -n 'test "$(__returns_place)" = "${path}"' -l ${option.slice(2)} -x -a '${values.join(" ")}'`,
    ),
  );
  return `function __returns_place
  set -l place ""
  for word in (commandline -opc)[2..]
    switch "$place $word"
      case ${commands.join(" ")}
        set place "$place $word"
    end
  end
  echo "$place"
end
${[...lines, ...choices].join("\n")}
`;
}
