import { describeFailure } from "./failure.ts";
import { createProgram } from "./program.ts";
import type { CommandContext } from "./session.ts";

/** Runs one command line; resolves to the exit code: 0 done, 1 not done, 2 not understood. */
async function main(words: readonly string[], context: CommandContext): Promise<number> {
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

// A reader that has seen enough (| head) is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});
// The entry point is where the environment comes in; everything below is given it.
// oxlint-disable-next-line no-restricted-properties
process.exitCode = await main(process.argv.slice(2), { environment: process.env });
