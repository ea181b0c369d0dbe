import { runProgram } from "./program.ts";

// A reader that has seen enough (| head) is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});
// The entry point is where the environment comes in; everything below is given it.
// oxlint-disable-next-line no-restricted-properties
process.exitCode = await runProgram(process.argv.slice(2), { environment: process.env });
