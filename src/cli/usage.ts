import { OPERATOR } from "../actions/actor.ts";
import { showUsage, type Usage } from "../actions/usage/usage.ts";
import type { CommandSession, CommandSpec } from "./command.ts";

export const USAGE: CommandSpec = {
  name: "usage",
  summary:
    "Show a workspace's use of the API: today, and by day, token, endpoint and interface, with refusals.",
  forWorkspace: true,
  options: { "--days <number>": "how many UTC days, today included, up to KEEP_USAGE_DAYS (default: 30)" },
  examples: ["./returns usage --workspace shop.example --days 7"],
  run: async ({ config, database, terminal, workspace }: CommandSession, { days }: { days?: string }) => {
    const { keepUsageDays } = config;
    const usage = await showUsage(database, OPERATOR, workspace, { days, now: new Date(), keepUsageDays });
    terminal.hint(todayText(usage));
    const rows = rowsOf(usage);
    if (rows.length === 0 && !terminal.isJson) return terminal.hint("No requests in these days.");
    terminal.printTable(rows, { of: "of", what: "what", requests: "requests", refused: "refused" }, usage);
    terminal.hint(differenceText(usage));
  },
};

type Row = { of: string; what: string; requests: number; refused: number | null };

function rowsOf(usage: Usage): Row[] {
  const tokens = usage.by_token.map(({ name, ...group }) =>
    name === null ? group : { ...group, key: `${name} (${group.key})` },
  );
  const groups = { token: tokens, endpoint: usage.by_endpoint, surface: usage.by_surface };
  return [
    ...usage.by_day
      .filter((day) => day.quota_requests + day.other_requests > 0)
      .map((day) => ({
        of: "day",
        what: day.day,
        requests: day.quota_requests + day.other_requests,
        refused: null,
      })),
    ...Object.entries(groups).flatMap(([of, own]) =>
      own.map(({ key: what, requests, refused_requests: refused }) => ({ of, what, requests, refused })),
    ),
    ...usage.refusals.map(({ code, requests }) => ({
      of: "refusal",
      what: code,
      requests,
      refused: requests,
    })),
  ];
}

function todayText({ today, daily_quota: quota }: Usage): string {
  const { used_requests: used, resets_at: resetsAt, forecast } = today;
  if (quota === null) return "The plan has no daily quota.";
  const usedUp = forecast?.used_up_at ?? null;
  const guess =
    usedUp === null ? "" : ` At today's pace it is used up at ${usedUp.toISOString()} (forecast).`;
  return `Today: ${used} of ${quota} requests; the quota resets at ${resetsAt.toISOString()}.${guess}`;
}

function differenceText({ by_day: days }: Usage): string {
  const missing = days.reduce((sum, day) => sum + Math.max(0, day.missing_requests), 0);
  return missing === 0
    ? "Days are exact; the rest is up to 10 seconds behind."
    : `The details lack ${missing} requests of the totals: they are up to 10 seconds behind, and a killed server loses up to 10 seconds of them.`;
}
