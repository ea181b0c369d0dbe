import { evaluateAlertsUnlessHeld } from "../../alerts/evaluate-alerts.ts";
import { units } from "../../console/format.ts";
import { recordAction } from "../audit/record.ts";
import { impossible, invalid } from "../refusal.ts";
import { listWorkspaceConnections } from "../sources/queries.ts";
import { deletePlanRequest } from "../plan/queries.ts";
import { lockSettings } from "../../store/queries/order-rules.ts";
import { setPrimaryWindow, raiseDataVersion } from "../../store/queries/publish.ts";
import { updateWorkspace } from "../../store/queries/workspace-directory.ts";
import { findDisplayName, updateDisplayName, putReasonGroups } from "./queries.ts";
import { defineAction, type ActionContext, type WorkspaceCaller } from "../action.ts";
import type { Detail } from "../audit/record.ts";
import { anyText, integer, omittable, oneOf, optional, own, type InputOf, type Field } from "../field.ts";
import { readPersonName } from "../people/person-name.ts";
import { requirePlan } from "../plan/actions.ts";
import { requireWorkspace, shownWorkspace, words, type ShownWorkspace } from "./workspace.ts";
import { folded } from "../../metrics/order-rules.ts";
import { REASON_GROUPS } from "../../metrics/reason-groups.ts";
import { findReasonGroups } from "../../store/queries/fit.ts";
import { readOneOf, readText } from "../input.ts";

const LONGEST_WINDOW_DAYS = 365;

/** Settings of a workspace's figures for its admins: the days of the primary window (M4), and the threshold of rankings (M12). */
export const setWindows = defineAction({
  name: "windows.set",
  title: "Save",
  past: "Changed the return window or the minimum of units sold",
  least: "admin",
  input: {
    primary_window_days: integer("Return window in days", 1, LONGEST_WINDOW_DAYS, {
      hint: "Days after the order, 1 to 365.",
    }),
    min_sold_units: integer("Minimum units sold", 0, null, {
      hint: "0 or more. A SKU that sold fewer is not ranked.",
    }),
  },
  run: async (context, settings) => {
    const { primary_window_days: windowDays, min_sold_units: minSoldUnits } = settings;
    await change(context, settings);
    return {
      result: await shown(context),
      done: `Saved. The return window is now ${windowDays} days, and a SKU needs at least ${units(minSoldUnits) as string} sold to be ranked.`,
      audit: { detail: written(settings), before: earlier(context, settings) },
    };
  },
  after: evaluate,
});

const LONGEST_NAME = 60;

/** The workspace's display name, on pages and in invitations; default: its domain. Addresses and answers use the domain. */
export const nameWorkspace = defineAction({
  name: "workspace.name",
  title: "Save name",
  about: "Give a workspace a name; without one, pages show its domain.",
  past: "Named the workspace",
  least: "admin",
  input: {
    display_name: optional(
      own(
        "Name",
        (subject, text) => {
          const name = readPersonName(subject, text);
          if (name.length <= LONGEST_NAME) return name;
          throw invalid(`${subject} must be text of up to ${LONGEST_NAME} characters.`);
        },
        {
          hint: `Up to ${LONGEST_NAME} characters, shown on pages and in invitations. Leave it empty to use the domain.`,
        },
      ),
    ),
  },
  run: async ({ connection, shopKey, domain }, { display_name: name }) => {
    const before = await findDisplayName(connection, shopKey);
    const called = name ?? domain;
    await updateDisplayName(connection, shopKey, name);
    return {
      result: { shop_domain: domain, display_name: called },
      done: `The workspace is now called ${called}.`,
      audit:
        before === called ? null : { detail: { display_name: called }, before: { display_name: before } },
    };
  },
});

/** A member's settings are recorded like a member's, whoever sets them. */
const MEMBERS_SETTINGS: ReadonlySet<string> = new Set(Object.keys(setWindows.input));

const SETTINGS = {
  plan: omittable(anyText("Plan", { hint: "<plan>" })),
  billing: omittable(oneOf("Billing", words("active", "inactive"))),
  readiness: omittable(oneOf("Readiness", words("ready", "installing", "reconnecting", "backfilling"))),
  primary_window_days: omittable(integer("Return window in days", 1, LONGEST_WINDOW_DAYS)),
  min_sold_units: omittable(integer("Minimum units sold", 0, null)),
  visible_card_size: omittable(integer("Rows of a ranking", 1, null)),
};

type Settings = Partial<InputOf<typeof SETTINGS>>;

/**
 * Changes settings of a workspace, all or none, from the next request on. Setting any plan closes the workspace's plan request.
 */
export const setWorkspace = defineAction({
  name: "workspace.set",
  title: "Save settings",
  about:
    "Change a workspace's settings; they apply from the next request. Setting a plan closes its owner's request.",
  past: "Changed settings of the workspace",
  least: "operator",
  input: SETTINGS,
  run: async (context, input) => {
    const settings = withoutOmitted(input);
    const names = Object.keys(settings);
    if (names.length === 0) {
      const known = Object.keys(SETTINGS).join(", ");
      throw invalid(`Name at least one setting of the workspace; its settings are ${known}.`);
    }
    const { connection, shopKey, domain, actor } = context;
    if (input.plan !== undefined) await requirePlan(connection, input.plan);
    if (input.readiness !== undefined) await requireOwnReadiness(context);
    await change(context, input);
    const ended = input.plan === undefined ? null : await deletePlanRequest(connection, shopKey);
    const before = earlier(context, settings);
    const audit = {
      detail: written(settings),
      before: ended === null ? before : { ...before, requested_plan: ended.plan },
    };
    const isMembers = names.every((name) => MEMBERS_SETTINGS.has(name));
    if (isMembers) await recordAction(connection, actor, { shopKey, action: setWindows.name, ...audit });
    return {
      result: await shown(context),
      done: `Saved the settings of ${domain}.`,
      audit: isMembers ? null : audit,
    };
  },
  after: async (caller, result, input) => {
    if (input.primary_window_days !== undefined) await evaluate(caller, result);
  },
});

async function change({ connection, shopKey }: ActionContext, settings: Settings): Promise<void> {
  const { primary_window_days: windowDays } = settings;
  if (windowDays !== undefined) await setPrimaryWindow(connection, shopKey, windowDays);
  await updateWorkspace(connection, shopKey, settings);
}

async function shown({ connection, domain }: ActionContext): Promise<ShownWorkspace> {
  return shownWorkspace(await requireWorkspace(connection, domain));
}

function withoutOmitted(settings: Settings): Readonly<Record<string, string | number>> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)) as Record<
    string,
    string | number
  >;
}

/** As texts, for the audit. */
function written(settings: Readonly<Record<string, string | number>>): Detail {
  return Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)]));
}

function earlier({ workspace }: ActionContext, settings: object): Record<string, string | number> {
  return Object.fromEntries(
    Object.entries(workspace).filter(([name]) => Object.hasOwn(settings, name)),
  ) as Record<string, string | number>;
}

function evaluate({ database, workspace, now }: WorkspaceCaller, _result: unknown): Promise<unknown> {
  return evaluateAlertsUnlessHeld({ database, shopKey: workspace.shop_key, now });
}

/** The next run of a connected store would undo this setting. */
async function requireOwnReadiness({ connection, shopKey, domain }: ActionContext): Promise<void> {
  const store = (await listWorkspaceConnections(connection, shopKey)).find(
    (row) => row.kind === "store" && row.sealed_credentials !== null && row.status !== "disconnected",
  );
  if (store === undefined) return;
  throw impossible(
    `The readiness of ${domain} follows its connection to ${store.source}: disconnect it first, or set billing=inactive to stop serving.`,
  );
}

const MOST_REASONS = 1000;
/** A form of the 50 reasons that the page lists stays below its limit in any script. */
export const LONGEST_REASON = 120;

/** Reasons with their groups, as `too tight=too_small`; a reason without a group is removed from its group. */
const reasons: Field<ReadonlyMap<string, string>> = {
  label: "Groups of reasons",
  hint: `a return reason and its group (${REASON_GROUPS.join(", ")}); without a group it is in none`,
  kind: "lines",
  option: "reason",
  placeholder: "reason=group",
  read: (subject, texts) => {
    const given = texts.flatMap((text) => text.split("\n")).filter((line) => line.trim() !== "");
    if (given.length === 0 || given.length > MOST_REASONS) {
      throw invalid(`${subject} must have 1 to ${MOST_REASONS} entries such as came after the party=late.`);
    }
    return new Map(given.map((entry) => readEntry(subject, entry)));
  },
};

function readEntry(subject: string, entry: string): [reason: string, group: string] {
  const at = entry.lastIndexOf("=");
  if (at < 0)
    throw invalid(`${subject} must be reasons with their groups, such as came after the party=late.`);
  const group = entry.slice(at + 1).trim();
  return [
    folded(readText(subject, entry.slice(0, at), LONGEST_REASON)),
    group === "" ? "" : readOneOf(subject, group, REASON_GROUPS),
  ];
}

/** Saves which groups the given reasons belong to (M22); the others stay where they are. The next answers follow. */
export const setReasons = defineAction({
  name: "reasons.set",
  title: "Save",
  about: "Put return reasons into groups, such as too small.",
  past: "Changed the groups of return reasons",
  least: "admin",
  input: { reasons },
  run: async ({ connection, shopKey }, { reasons: given }) => {
    await lockSettings(connection, shopKey);
    const saved = (await findReasonGroups(connection, shopKey)) ?? {};
    const before = new Map(Object.entries(saved));
    const all = new Map([...new Map([...before, ...given])].filter(([, group]) => group !== ""));
    if (all.size > MOST_REASONS) {
      throw invalid(`At most ${MOST_REASONS} reasons can have a group. Remove some first.`, "reasons");
    }
    const changed = [...given].filter(([reason, group]) => (before.get(reason) ?? "") !== group);
    if (changed.length === 0) return { result: saved, done: "Nothing changed.", audit: null };
    await putReasonGroups(connection, shopKey, Object.fromEntries(all));
    await raiseDataVersion(connection, shopKey);
    const detail = Object.fromEntries(changed);
    return {
      result: Object.fromEntries(all),
      done: "Saved. Reports use these groups from now on.",
      audit: {
        detail,
        before: Object.fromEntries(changed.map(([reason]) => [reason, before.get(reason) ?? ""])),
      },
    };
  },
});
