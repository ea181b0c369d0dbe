// npm run bench: each row is measured in one run against a floor measured beside it.
import { measureImport } from "./import.ts";
import { formatTable } from "./table.ts";

const rows = await measureImport((line) => process.stderr.write(`${line}\n`));
process.stdout.write(formatTable(rows));
