import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { Command } from "commander";
import { describeFailure } from "../src/cli/failure.ts";
import { createProgram } from "../src/cli/program.ts";
import { isCitus } from "./support/citus.ts";
import { matchSnapshot, readLines, withoutVarying } from "./support/net.ts";
import { serviceEnvironment, startTestService, type TestService } from "./support/service.ts";
import { writeStoreFolder } from "./support/store-folder.ts";
import { connectShop } from "./support/webhooks.ts";
import { makeFolder } from "./support/folder.ts";

/** What commands print: the help of each, and the output of most, as text and as JSON. They run in this process, for speed. */

/** In this order; ":shop" = --workspace shop.example, other `:names` an id, a folder or an address. */
const LINES = readLines("commands/lines.txt");

const STORE = {
  order_lines: [
    { order_id: "1", line_id: "1", ordered_at: "2026-05-03T10:00:00Z", sku: "LAMP-01", units: 3 },
  ],
};

const skip = isCitus() && "a distributed database is backed up by the cluster's own tools";

const folder = makeFolder();

test("the help of every command", async () => {
  const program = await createProgram({ environment: {} }, []);
  const texts = [];
  for (const command of commandsOf(program)) {
    const { said } = await listen(() => Promise.resolve(command.outputHelp()));
    texts.push(`$ ${pathOf(command)} --help\n${said}`);
  }
  matchSnapshot("commands/help.txt", texts.join("\n"));
});

/** Lines that are refused: they change nothing, and the sentence is the same with --json. */
const refusedLines = new Set<number>();

for (const style of ["text", "json"] as const) {
  test(`the output of commands, as ${style}`, { skip }, async () => {
    const service = await startTestService();
    try {
      const own = join(folder, style);
      await mkdir(join(own, "store"), { recursive: true });
      await writeStoreFolder(join(own, "store"), STORE);
      const answers = [];
      for (const [place, line] of LINES.entries()) {
        if (refusedLines.has(place)) continue;
        const { code, said } = await answerOf(service, own, line, style);
        if (code !== 0) refusedLines.add(place);
        answers.push(`$ returns ${line}\n${code}\n${said}`);
      }
      matchSnapshot(`commands/${style}.txt`, withoutVarying(answers.join("\n").replaceAll(own, "<folder>")));
    } finally {
      await service.stop();
    }
  });
}

/** A command and everything below it. */
function commandsOf(command: Command): Command[] {
  return [command, ...command.commands.flatMap(commandsOf)];
}

function pathOf(command: Command): string {
  return command.parent === null ? "returns" : `${pathOf(command.parent)} ${command.name()}`;
}

/** Runs a command as `main` does, on the service's database; "connections" finds a shop connected. */
async function answerOf(
  service: TestService,
  own: string,
  line: string,
  style: "text" | "json",
): Promise<{ said: string; code: number | string }> {
  if (line.startsWith("connections")) await connectOne(service);
  const { rows } = await service.database.query<{ name: string; id: string }>(
    `(select 'token' as name, token_id as id from api_token where name = 'test' order by created_at desc limit 1)
     union all select case name when 'Berta' then 'anna' else lower(name) end, user_id::text from console_user`,
  );
  const places = [...rows, { name: "folder", id: own }, { name: "address", id: service.address }];
  const filled = places.reduce(
    (text, { name, id }) => text.replace(`:${name}`, id),
    line.replace(":shop", "--workspace shop.example"),
  );
  const words = [...filled.split(" "), ...(style === "json" ? ["--json"] : [])];
  const environment = serviceEnvironment(service.databaseUrl);
  const { said, code } = await listen(async () =>
    (await createProgram({ environment }, words)).parseAsync(words, { from: "user" }),
  );
  const [token] = /rta_live_[0-9A-Za-z]{65}/u.exec(said) ?? [];
  if (token !== undefined) await writeFile(join(own, "token"), token);
  return { said, code };
}

async function connectOne({ database, ...service }: TestService): Promise<void> {
  const { rows } = await database.query<{ shop_key: string }>("select shop_key from workspace");
  await connectShop({ database, ...service }, Number(rows[0]?.shop_key), "my-store.myshopify.com");
}

/** Returns what is written to the terminal meanwhile, except bytes, which the test runner writes. */
async function listen(work: () => Promise<unknown>): Promise<{ said: string; code: number | string }> {
  let said = "";
  const streams = [process.stdout, process.stderr].map((stream) => ({
    stream,
    write: stream.write.bind(stream) as (...given: unknown[]) => boolean,
  }));
  for (const { stream, write } of streams) {
    stream.write = (...given: unknown[]) => {
      if (typeof given[0] !== "string") return write(...given);
      said += given[0];
      return true;
    };
  }
  try {
    await work();
    return { said, code: process.exitCode ?? 0 };
  } catch (error) {
    const { message, exitCode, apiError = null } = describeFailure(error);
    const refused = apiError === null ? message : `${message}\n${JSON.stringify(apiError)}`;
    return { said: `${said}${refused}\n`, code: exitCode };
  } finally {
    process.exitCode = 0;
    for (const { stream, write } of streams) stream.write = write;
  }
}
