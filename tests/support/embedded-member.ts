/**
 * A process that uses the embedded database of a folder: node embedded-member.ts <data folder>
 * Prints {started, url} or {error} as one line, stays until its input ends, then leaves and prints {released: true}.
 */
import { joinEmbedded } from "../../src/embedded/embedded.ts";

const settings = { fsync: "off", shared_buffers: "16MB" };

try {
  const dataFolder = process.argv[2] ?? "";
  const database = await joinEmbedded({ dataFolder, log: console.error, settings });
  print({ started: database.started, url: database.url });
  process.stdin.resume();
  await new Promise((resolve) => process.stdin.once("end", resolve));
  await database.release();
  print({ released: true });
} catch (error) {
  print({ error: (error as Error).message });
}

function print(value: object): void {
  console.log(JSON.stringify(value));
}
