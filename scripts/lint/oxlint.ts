/** Start file of the linter inside node_modules; its rules are in oxlint.config.ts. */
export const oxlintBin = "oxlint/bin/oxlint";

/** What every run of the linter is given: types are looked at and a warning is a failure. */
export const lintArguments = ["--config", "oxlint.config.ts", "--type-aware", "--deny-warnings"];
