import { runProgram } from "./program.ts";

// A reader that has seen enough (| head) is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  const message = `Standard output cannot be written: ${error.message}.`;
  const isJson = process.argv.includes("--json");
  process.stderr.write(isJson ? `${JSON.stringify({ error: { message } })}\n` : `${message}\n`);
  process.exit(1);
});
// The entry point is where the environment comes in; everything below is given it.
// oxlint-disable-next-line no-restricted-properties
process.exitCode = await runProgram(process.argv.slice(2), { environment: process.env });
