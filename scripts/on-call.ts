/** Writes what follows from the rules of src/on-call/rules.ts, and the dashboard: npm run on-call */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DASHBOARD_FILE, dashboardText } from "./on-call/grafana-dashboard.ts";
import { GUIDE_FILE, withTable } from "./on-call/guide-table.ts";
import { RULES_FILE, rulesText } from "./on-call/prometheus-rules.ts";

const project = dirname(import.meta.dirname);
const guide = join(project, GUIDE_FILE);
writeFileSync(join(project, RULES_FILE), rulesText());
writeFileSync(join(project, DASHBOARD_FILE), dashboardText());
writeFileSync(guide, withTable(readFileSync(guide, "utf8")));
