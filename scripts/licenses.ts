/** Writes THIRD_PARTY_LICENSES from the installed packages: npm run licenses */
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { licensesText } from "./licenses/third-party.ts";

const project = dirname(import.meta.dirname);
writeFileSync(join(project, "THIRD_PARTY_LICENSES"), licensesText(project));
