import { dayToText, firstDayOfMonth, monthToText } from "../lib/month.ts";
import { projectOrder } from "../metrics/classify.ts";
import type { OrderFacts } from "../metrics/classify.ts";
import { leaderboardMonths } from "../metrics/completeness.ts";
import { LEFT_OUT, ORDER_KINDS } from "../metrics/order-rules.ts";
import type { LeftOut, OrderRules } from "../metrics/order-rules.ts";
import { rate } from "../metrics/rate.ts";
import type { Database } from "../store/database.ts";
import { loadCohort } from "../store/queries/cohort.ts";
import { countLeftOut, putOrderRules } from "../store/queries/order-rules.ts";
import { queueUploads } from "../store/queries/run-queue.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import { loadAnyWorkspace } from "../store/queries/workspace-load.ts";
import { loadRules, openOrdersBetween } from "../sync/order-rules.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import { quoted, readOneOf, readText } from "./input.ts";
import { requireRight } from "./rights.ts";
import { invalid } from "./refusal.ts";

/** A rule as forms and commands name it; its value is one of `choices`, or a comma-separated list. */
export type RuleSetting = {
  name: string;
  label: string;
  hint: string;
  choices: readonly (readonly [value: string, text: string])[] | null;
};

const COUNTS = [
  ["count", "count"],
  ["leave_out", "are left out"],
] as const;

export const RULE_SETTINGS: readonly RuleSetting[] = [
  {
    name: "exchange_names",
    label: "Names of exchange orders of other apps",
    hint: "How they begin, separated by commas: Loop's begin with EXC-. Such orders are left out.",
    choices: null,
  },
  {
    name: "exchange_tags",
    label: "Tags of exchange orders of other apps",
    hint: "Separated by commas: Narvar's have narvar_exchange_order. Such orders are left out.",
    choices: null,
  },
  {
    name: "free_drafts",
    label: "Draft orders at price 0",
    hint: "Such as samples and gifts that somebody of the shop wrote.",
    choices: COUNTS,
  },
  {
    name: "free_orders",
    label: "Other orders at price 0",
    hint: "Such as replacements that an app placed.",
    choices: COUNTS,
  },
  {
    name: "unpaid",
    label: "Orders that are not paid in full",
    hint: "Pending, authorized, partially paid and expired ones.",
    choices: COUNTS,
  },
  {
    name: "voided",
    label: "Orders whose payment was voided",
    hint: "Not canceled ones: they never count.",
    choices: COUNTS,
  },
  {
    name: "left_out_channels",
    label: "Channels that are left out",
    hint: "Shopify's source names, separated by commas, such as pos.",
    choices: null,
  },
  {
    name: "left_out_tags",
    label: "Tags of orders that are left out",
    hint: "Separated by commas, such as wholesale.",
    choices: null,
  },
  {
    name: "refunds_without_restock",
    label: "A refund without a return that restocks nothing",
    hint: "A lost parcel, or goodwill. An import without restock types has only such refunds.",
    choices: [
      ["return", "counts as a return"],
      ["money", "counts as money alone"],
    ],
  },
];

const MOST_TEXTS = 50;
const LONGEST_TEXT = 255;

/** Rules as the values of `RULE_SETTINGS`, by name. */
export function writtenRules(rules: OrderRules): Record<string, string> {
  const kinds = ORDER_KINDS.map((kind) => [kind, rules.leftOutKinds.includes(kind) ? "leave_out" : "count"]);
  const values: Record<string, string> = {
    exchange_names: rules.exchangeNames.join(", "),
    exchange_tags: rules.exchangeTags.join(", "),
    left_out_channels: rules.leftOutChannels.join(", "),
    left_out_tags: rules.leftOutTags.join(", "),
    refunds_without_restock: rules.refundsWithoutRestockReturn ? "return" : "money",
    ...Object.fromEntries(kinds),
  };
  return Object.fromEntries(RULE_SETTINGS.map(({ name }) => [name, values[name] ?? ""]));
}

/** `current` with the settings that are given; every sentence of `Refusal` names one. Throws `invalid`. */
export function readRules(given: ReadonlyMap<string, string>, current: OrderRules): OrderRules {
  const unknown = [...given.keys()].find((name) => !RULE_SETTINGS.some((setting) => setting.name === name));
  if (unknown !== undefined) {
    const names = RULE_SETTINGS.map(({ name }) => name).join(", ");
    throw invalid(`${quoted(unknown)} is no rule of orders; the rules are ${names}.`);
  }
  const written = { ...writtenRules(current), ...Object.fromEntries(given) };
  const value = (name: string): string => written[name] ?? "";
  const choice = (name: string): string => {
    const { choices } = RULE_SETTINGS.find((setting) => setting.name === name) as RuleSetting;
    return readOneOf(
      name,
      value(name),
      (choices ?? []).map(([each]) => each),
    );
  };
  return {
    exchangeNames: readTexts("exchange_names", value("exchange_names")),
    exchangeTags: readTexts("exchange_tags", value("exchange_tags")),
    leftOutKinds: ORDER_KINDS.filter((kind) => choice(kind) === "leave_out"),
    leftOutChannels: readTexts("left_out_channels", value("left_out_channels")),
    leftOutTags: readTexts("left_out_tags", value("left_out_tags")),
    refundsWithoutRestockReturn: choice("refunds_without_restock") === "return",
  };
}

function readTexts(name: string, value: string): string[] {
  const texts = value.split(",").filter((text) => text.trim() !== "");
  if (texts.length > MOST_TEXTS) throw invalid(`${name} must have at most ${MOST_TEXTS} entries.`);
  return [...new Set(texts.map((text) => readText(name, text, LONGEST_TEXT)))];
}

/** What a workspace wants to count, and whether its figures follow that already. */
export async function showRules(
  database: Pick<Database, "rows">,
  { shop_key: shopKey }: Pick<WorkspaceRow, "shop_key">,
): Promise<{ rules: OrderRules; isApplied: boolean }> {
  const { wanted, isApplied } = await loadRules(database, shopKey);
  return { rules: wanted, isApplied };
}

/**
 * Saves the rules that are given, and returns all. A worker has the figures follow within seconds, in one step. Throws as
 * `readRules`.
 */
export async function setRules(
  database: Database,
  actor: Actor,
  { shop_key: shopKey }: Pick<WorkspaceRow, "shop_key">,
  given: ReadonlyMap<string, string>,
): Promise<OrderRules> {
  requireRight(actor, "rules.set");
  const saved = await database.transaction(async (connection) => {
    const { wanted: before } = await loadRules(connection, shopKey);
    const wanted = readRules(given, before);
    await putOrderRules(connection, shopKey, wanted);
    await recordAction(connection, actor, {
      shopKey,
      action: "rules.set",
      detail: writtenRules(wanted),
      before: writtenRules(before),
    });
    return wanted;
  });
  await queueUploads(database, shopKey);
  return saved;
}

/** Figures of the newest twelve complete months. */
export type RulesFigures = {
  soldUnits: number;
  returnedUnits: number;
  /** M6. */
  returnRate: number;
  leftOutOrders: Record<LeftOut, number>;
};

export type RulesPreview = {
  /** As "2026-09", both included. */
  startMonth: string;
  endMonth: string;
  now: RulesFigures;
  saved: RulesFigures;
  /** false = the rules concern more orders than are counted here: the real effect is larger. */
  isWhole: boolean;
};

/** Some seconds. */
const MOST_ORDERS = 20_000;

/**
 * What the newest twelve complete months are, and would be once `wanted` is saved: exactly, since only the orders that the
 * two sets of rules may count differently are projected, under both. null = figures are withheld, or no month is complete.
 */
export async function previewRules(
  database: Database,
  actor: Actor,
  { shop_key: shopKey }: Pick<WorkspaceRow, "shop_key">,
  wanted: OrderRules,
): Promise<RulesPreview | null> {
  requireRight(actor, "rules.set");
  return database.longSnapshot(shopKey, async (connection) => {
    const loaded = await loadAnyWorkspace(connection, shopKey);
    if (loaded === null || !loaded.isBillingActive || loaded.readiness !== "ready") return null;
    const { workspace } = loaded;
    const { primaryWindowDays: windowDays, asOfDay } = workspace;
    const months = leaderboardMonths("year", windowDays, asOfDay);
    if (months === null) return null;
    const selection = { kind: "workspace", key: "", includeUsed: false, vendor: null } as const;
    const cohort = await loadCohort(connection, workspace, { selection, windowDays, ...months });
    const counted = await countLeftOut(connection, workspace, months);
    const now = emptySums();
    for (const { sold_units: sold, returned_units: returned } of cohort.months) {
      now.soldUnits += sold;
      now.returnedUnits += returned;
    }
    for (const { left_out: by, orders } of counted) now.leftOutOrders[by as LeftOut] += orders;
    const saved = structuredClone(now);
    const { applied } = await loadRules(connection, shopKey);
    const from = `${dayToText(firstDayOfMonth(months.startMonth))}T00:00:00`;
    const next = openOrdersBetween(connection, shopKey, { rules: [applied, wanted], from });
    let orders = 0;
    for (let page = await next(); page.length > 0 && orders < MOST_ORDERS; page = await next()) {
      orders += page.length;
      for (const document of page) {
        addFacts(saved, projectOrder(document, applied), { windowDays, ...months, sign: -1 });
        addFacts(saved, projectOrder(document, wanted), { windowDays, ...months, sign: 1 });
      }
    }
    return {
      startMonth: monthToText(months.startMonth),
      endMonth: monthToText(months.endMonth),
      now: { ...now, returnRate: rate(now.returnedUnits, now.soldUnits) },
      saved: { ...saved, returnRate: rate(saved.returnedUnits, saved.soldUnits) },
      isWhole: orders < MOST_ORDERS,
    };
  });
}

type Sums = Omit<RulesFigures, "returnRate">;

function emptySums(): Sums {
  const none = Object.fromEntries(LEFT_OUT.map((by) => [by, 0])) as Record<LeftOut, number>;
  return { soldUnits: 0, returnedUnits: 0, leftOutOrders: none };
}

type Counted = { windowDays: number; startMonth: number; endMonth: number; sign: 1 | -1 };

function addFacts(sums: Sums, facts: OrderFacts, { windowDays, startMonth, endMonth, sign }: Counted): void {
  const lines = facts.lines.filter(({ cohortMonth }) => cohortMonth >= startMonth && cohortMonth <= endMonth);
  const lineIds = new Set(lines.map(({ lineId }) => lineId));
  for (const { soldUnits } of lines) sums.soldUnits += sign * soldUnits;
  for (const { lineId, lagDays, returnedUnits } of facts.events) {
    if (lineIds.has(lineId) && lagDays <= windowDays) sums.returnedUnits += sign * returnedUnits;
  }
  if (facts.leftOut !== null && lines.length > 0) sums.leftOutOrders[facts.leftOut] += sign;
}
