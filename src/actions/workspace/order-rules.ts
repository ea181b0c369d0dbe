import { readText } from "../input.ts";
import { invalid } from "../refusal.ts";
import { dayToText, firstDayOfMonth, monthToText } from "../../lib/month.ts";
import { projectOrder, type OrderFacts } from "../../metrics/classify.ts";
import { leaderboardMonths } from "../../metrics/completeness.ts";
import { LEFT_OUT, ORDER_KINDS } from "../../metrics/order-rules.ts";
import type { LeftOut, OrderKind, OrderRules } from "../../metrics/order-rules.ts";
import { rate } from "../../metrics/rate.ts";
import type { Queryable } from "../../store/database.ts";
import { loadCohort } from "../../store/queries/cohort.ts";
import { countLeftOut, putOrderRules } from "./queries.ts";
import { lockSettings } from "../../store/queries/order-rules.ts";
import { queueUploads } from "../../store/queries/run-queue.ts";
import type { DirectoryRow } from "../../store/queries/workspace-directory.ts";
import { loadAnyWorkspace } from "../../store/queries/workspace-load.ts";
import { loadRules, openOrdersBetween } from "../../sync/order-rules.ts";
import { defineAction, type WorkspaceCaller } from "../action.ts";
import { omittable, oneOf, own, type Field, type InputOf } from "../field.ts";
import { requireRight } from "../right.ts";

const MOST_TEXTS = 50;
const LONGEST_TEXT = 255;

const COUNTS = [
  ["count", "count"],
  ["leave_out", "are left out"],
] as const;

/** The rules as forms and commands name them; those that are not given stay as they are. */
const RULES = {
  exchange_names: texts("Name prefixes of exchange orders from other apps", {
    hint: "Separated by commas; Loop uses EXC-. Orders whose names begin with one are left out.",
  }),
  exchange_tags: texts("Tags of exchange orders from other apps", {
    hint: "Separated by commas; Narvar uses narvar_exchange_order. Orders that have one are left out.",
  }),
  free_drafts: omittable(
    oneOf("Free draft orders", COUNTS, {
      hint: "Such as samples and gifts that the shop’s staff created.",
    }),
  ),
  free_orders: omittable(
    oneOf("Other free orders", COUNTS, { hint: "Such as replacements that an app placed." }),
  ),
  unpaid: omittable(
    oneOf("Orders that are not paid in full", COUNTS, {
      hint: "Pending, authorized, partially paid and expired ones.",
    }),
  ),
  voided: omittable(
    oneOf("Orders whose payment was voided", COUNTS, { hint: "Not canceled ones: they never count." }),
  ),
  left_out_channels: texts("Channels that are left out", {
    hint: "Shopify's source names, separated by commas, such as pos.",
  }),
  left_out_tags: texts("Tags of orders that are left out", {
    hint: "Separated by commas, such as wholesale.",
  }),
  refunds_without_restock: omittable(
    oneOf(
      "A refund without a return that restocks nothing",
      [
        ["return", "counts as a return"],
        ["money", "counts as money only"],
      ],
      { hint: "A lost parcel, or goodwill. An import without restock types has only such refunds." },
    ),
  ),
};

export const RULE_NAMES: readonly string[] = Object.keys(RULES);

/** Saves the rules that are given. A worker has the figures follow within seconds, in one step. */
export const setRules = defineAction({
  name: "rules.set",
  title: "Save",
  past: "Changed which orders count",
  least: "admin",
  input: RULES,
  run: async ({ connection, shopKey }, given) => {
    await lockSettings(connection, shopKey);
    const { wanted: earlier } = await loadRules(connection, shopKey);
    const wanted = changedRules(given, earlier);
    await putOrderRules(connection, shopKey, wanted);
    const detail = writtenRules(wanted);
    return {
      result: detail,
      done: "Saved. The figures change as soon as a worker has recomputed the affected orders.",
      audit: { detail, before: writtenRules(earlier) },
    };
  },
  after: ({ database, workspace }) => queueUploads(database, workspace.shop_key),
});

/** Texts that are separated by commas; none is allowed. */
function texts(label: string, about: { hint: string }): Field<string[] | undefined> {
  return omittable(
    own(
      label,
      (subject, given) => {
        const all = given.split(",").filter((text) => text.trim() !== "");
        if (all.length > MOST_TEXTS) throw invalid(`${subject} must have at most ${MOST_TEXTS} entries.`);
        return [...new Set(all.map((text) => readText(subject, text, LONGEST_TEXT)))];
      },
      about,
    ),
  );
}

/** Rules as they are given to `setRules`, by name. */
export function writtenRules(rules: OrderRules): Record<string, string> {
  const counts = (kind: OrderKind): string => (rules.leftOutKinds.includes(kind) ? "leave_out" : "count");
  return {
    exchange_names: rules.exchangeNames.join(", "),
    exchange_tags: rules.exchangeTags.join(", "),
    free_drafts: counts("free_drafts"),
    free_orders: counts("free_orders"),
    unpaid: counts("unpaid"),
    voided: counts("voided"),
    left_out_channels: rules.leftOutChannels.join(", "),
    left_out_tags: rules.leftOutTags.join(", "),
    refunds_without_restock: rules.refundsWithoutRestockReturn ? "return" : "money",
  } satisfies Record<keyof typeof RULES, string>;
}

/** `current`, overridden by the given values. */
export function changedRules(given: InputOf<typeof RULES>, current: OrderRules): OrderRules {
  const isLeftOut = (kind: OrderKind): boolean =>
    given[kind] === undefined ? current.leftOutKinds.includes(kind) : given[kind] === "leave_out";
  const { refunds_without_restock: refunds } = given;
  return {
    exchangeNames: given.exchange_names ?? current.exchangeNames,
    exchangeTags: given.exchange_tags ?? current.exchangeTags,
    leftOutKinds: ORDER_KINDS.filter(isLeftOut),
    leftOutChannels: given.left_out_channels ?? current.leftOutChannels,
    leftOutTags: given.left_out_tags ?? current.leftOutTags,
    refundsWithoutRestockReturn:
      refunds === undefined ? current.refundsWithoutRestockReturn : refunds === "return",
  };
}

/** A workspace's order rules, and whether its figures follow them already. */
export async function showRules(
  database: Queryable,
  { shop_key: shopKey }: Pick<DirectoryRow, "shop_key">,
): Promise<{ rules: OrderRules; isApplied: boolean }> {
  const { wanted, isApplied } = await loadRules(database, shopKey);
  return { rules: wanted, isApplied };
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
 * The newest twelve complete months, now and with `wanted`: exact, since the orders that may differ are projected under both sets
 * of rules. null: figures are withheld, or no month is complete.
 */
export async function previewRules(
  caller: Pick<WorkspaceCaller, "database" | "actor"> & { workspace: Pick<DirectoryRow, "shop_key"> },
  wanted: OrderRules,
): Promise<RulesPreview | null> {
  requireRight(caller.actor, setRules);
  const { shop_key: shopKey } = caller.workspace;
  return caller.database.longSnapshot(shopKey, async (connection) => {
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
    const next = await openOrdersBetween(connection, shopKey, { rules: [applied, wanted], from });
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
