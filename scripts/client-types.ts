/** Writes the files of the client that follow from the contract: npm run client:types */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { generatedFiles } from "./client/generated-files.ts";
import { projectRoot } from "./lint/tool.ts";

for (const [path, text] of generatedFiles()) writeFileSync(join(projectRoot, path), text);
