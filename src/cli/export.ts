import { createWriteStream } from "node:fs";
import { mkdir, rename, rm, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Option, type Command } from "commander";
import { exportTable } from "../contract/export-table.ts";
import { listParameters } from "../contract/endpoint.ts";
import { TABLE_FORMATS, TABLES, type TableFormat, type TableName } from "../contract/tables.ts";
import { connect, optionOf, throwQueryFailure, withConnection, type ConnectionOptions } from "./query.ts";
import { withTools, type CommandContext } from "./session.ts";

type ExportOptions = ConnectionOptions & {
  table: TableName[];
  format: TableFormat;
  startMonth?: string;
  endMonth?: string;
};

const NAMES = TABLES.map(({ name }) => name);

const EXAMPLES = `Examples:
  export RETURNS_TOKEN=rta_live_…
  ./returns export ./tables
  ./returns export ./tables --table cohorts order_lines --format csv --start-month 2026-01
`;

/** Downloads tables from a running service, each as one request. */
export function addExportCommand(program: Command, context: CommandContext): void {
  const command = withConnection(
    program
      .command("export")
      .description("Download the tables behind the figures from a running service, with a token.")
      .argument("<folder>", "where the files go; earlier ones are replaced")
      .addHelpText("before", EXAMPLES),
  )
    .addOption(new Option("--table <names...>", "only these tables").choices(NAMES).default(NAMES, "all"))
    .addOption(
      new Option("--format <format>", "format of the files")
        .choices(Object.keys(TABLE_FORMATS))
        .default("parquet"),
    );
  const parameters = listParameters(exportTable.parameters);
  for (const parameter of parameters)
    if (parameter.name.endsWith("_month")) command.addOption(optionOf(parameter, parameters));
  command.action((folder: string, options: ExportOptions) =>
    downloadTables(context, command, resolve(folder), options),
  );
}

async function downloadTables(
  context: CommandContext,
  command: Command,
  folder: string,
  options: ExportOptions,
): Promise<void> {
  const client = await connect(options, context);
  const { format, startMonth: start_month, endMonth: end_month } = options;
  await withTools(context, command, { isBrief: true }, async ({ terminal, interruption: { signal } }) => {
    const files: { file: string; bytes: number }[] = [];
    const download = async (table: TableName): Promise<void> => {
      const file = join(folder, `${table}.${format}`);
      terminal.showStatus(`Downloading ${table}.${format}…`);
      const { stream } = await client.exportTable({ table, format, start_month, end_month }, { signal });
      // A file under its own name is whole.
      const part = `${file}.part`;
      try {
        await pipeline(Readable.fromWeb(stream as never), createWriteStream(part), { signal });
      } catch (error) {
        await rm(part, { force: true });
        throw error;
      }
      await rename(part, file);
      files.push({ file, bytes: (await stat(file)).size });
    };
    await mkdir(folder, { recursive: true });
    for (const table of options.table) await download(table).catch(throwQueryFailure);
    terminal.showStatus("");
    terminal.printTable(files, { file: "file", bytes: "bytes" });
  });
}
