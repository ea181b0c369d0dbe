import { csvText, guardedText } from "../../lib/csv-text.ts";
import { dayFromText } from "../../lib/month.ts";
import { listAudit, listAuditOfAll, listInstallationEvents, NEWEST } from "./queries.ts";
import type { AuditPlace, AuditRow } from "./queries.ts";
import { defineList, type ActionCaller, type ListPage, type WorkspaceCaller } from "../action.ts";
import { anyText, optional, own, readInput, type Given } from "../field.ts";
import { readDay, readInstant } from "../input.ts";
import { invalid } from "../refusal.ts";
import { ACTIONS, LISTS } from "../registry.ts";
import { readAudit, readAuditOfAll, requireRight } from "../right.ts";
import { requireWorkspace } from "../workspace/workspace.ts";

/** One part of an action's changes: its value before and after; null: it did not exist, or no longer exists. */
export type AuditChange = { name: string; before: string | null; after: string | null };

type AuditCaller = ActionCaller & Pick<WorkspaceCaller, "workspace">;

/** An action as people read it; `workspace` null: it concerned the installation. */
export type ListedAction = {
  workspace: string | null;
  happened_at: Date;
  /** A person's name, "Operator", "Merchant", a source, or "removed member". */
  who: string;
  /** As the audit stores it, such as user:<id>; what filters take. */
  actor: string;
  action: string;
  /** The action in words. */
  what: string;
  changes: AuditChange[];
  /** An address; of a command the operating system's user; null = a source, or a command of an earlier version. */
  origin: string | null;
  cursor: string;
};

const DAY_MS = 86_400_000;
const CSV_ROWS_PER_READ = 1000;
const CURSOR =
  /^(?<position>(?<day>\d{4}-\d{2}-\d{2})T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z)~(?<id>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/u;
/** An actor or an action as they are stored. */
const STORED_NAME = /^[a-z][a-z0-9_.:-]{0,99}$/u;

/** The person is gone; the audit keeps their actions. */
const REMOVED = "removed member";
const NAMES: Readonly<Record<string, string>> = {
  app: "Connected app",
  operator: "Operator",
  merchant: "Merchant",
  shopify: "Shopify",
};

const FILTERS = {
  workspace: optional(anyText("Workspace", { placeholder: "domain", hint: "only of this workspace" })),
  since: optional(
    own("Since", readInstant, { placeholder: "when", hint: "only from this day or moment on, in UTC" }),
  ),
  who: optional(
    own("Who", readStoredName, {
      placeholder: "actor",
      hint: "only by this actor, such as operator or user:<id>",
    }),
  ),
  action: optional(
    own("Action", readStoredName, { placeholder: "name", hint: "only this action, such as token.create" }),
  ),
};

/** Of one workspace's page: both days are included. */
const OF_WORKSPACE = {
  who: FILTERS.who,
  action: FILTERS.action,
  from: optional(own("The first day", (subject, text) => new Date(readDay(subject, text)))),
  to: optional(own("The last day", (subject, text) => new Date(Date.parse(readDay(subject, text)) + DAY_MS))),
};

/** The newest actions on workspaces and on the installation. */
export const auditListOfAll = defineList<ListedAction, ActionCaller, typeof FILTERS>({
  ...readAuditOfAll,
  about: "Show who did what, newest first.",
  columns: {
    when: "happened_at",
    workspace: "workspace",
    who: "who",
    what: "what",
    changes: ({ changes }) => changes.map(changeText).join("; ") || null,
    from: "origin",
  },
  input: FILTERS,
  pages: {
    cursor: ({ cursor }) => cursor,
    after: ["cursor", "the page after a row, by the row's cursor"],
    defaultLimit: 50,
    most: 10_000,
  },
  rows: async ({ database }, { workspace: domain, since: from, who: actor, action }, { after, limit }) => {
    const workspace = domain === null ? null : await requireWorkspace(database, domain);
    const place = readPlace(after, "--after must be the cursor of an action.");
    const page = { actor, action, from, to: null, limit, ...place };
    const rows: (AuditRow & { shop_domain?: string | null })[] =
      workspace === null
        ? [...(await listAuditOfAll(database, page)), ...(await listInstallationEvents(database, page))]
        : await listAudit(database, workspace.shop_key, page);
    const newest = rows.toSorted((left, right) => (placeOf(left) < placeOf(right) ? 1 : -1)).slice(0, limit);
    return newest.map((row) => listedAction(row, row.shop_domain ?? workspace?.shop_domain ?? null));
  },
});

/** A page of a workspace's actions, newest first. Throws a `Refusal` for an invalid filter or cursor. */
export async function showAudit(
  { database, actor, workspace, now }: AuditCaller,
  given: Given,
  { after, limit }: ListPage,
): Promise<ListedAction[]> {
  requireRight(actor, readAudit);
  const { who, ...filter } = readInput(OF_WORKSPACE, given, now);
  const place = readPlace(after, "This cursor is not from this page. Start at the first page.");
  const page = { actor: who, ...filter, limit, ...place };
  const rows = await listAudit(database, workspace.shop_key, page);
  return rows.map((row) => listedAction(row, workspace.shop_domain));
}

/** The same, all of it, as CSV in pieces. */
export async function auditCsv(caller: AuditCaller, given: Given): Promise<AsyncGenerator<string>> {
  const pageAfter = (after: string | null) => showAudit(caller, given, { after, limit: CSV_ROWS_PER_READ });
  return csvPieces(await pageAfter(null), pageAfter);
}

/** "role: viewer → admin", for where there is no table. */
function changeText({ name, before, after }: AuditChange): string {
  if (before === null) return `${name}: ${after ?? ""}`;
  return `${name}: ${before} → ${after ?? "none"}`;
}

async function* csvPieces(
  first: ListedAction[],
  pageAfter: (after: string) => Promise<ListedAction[]>,
): AsyncGenerator<string> {
  yield csvText([["happened_at", "who", "actor", "action", "what", "changes", "origin"]]);
  for (let rows = first, last = rows.at(-1); last !== undefined; last = rows.at(-1)) {
    yield csvText(rows.map((row) => csvCells(row).map(guardedText)));
    rows = await pageAfter(last.cursor);
  }
}

function csvCells({ happened_at: at, who, actor, action, what, changes, origin }: ListedAction): string[] {
  return [at.toISOString(), who, actor, action, what, changes.map(changeText).join("; "), origin ?? ""];
}

function listedAction(row: AuditRow, workspace: string | null): ListedAction {
  const { happened_at, actor, action, origin } = row;
  return {
    workspace,
    happened_at,
    who: whoOf(row),
    actor,
    action,
    // An action that a later or an earlier version recorded is shown by its name.
    what: AUDIT_WORDS[action] ?? action,
    changes: changesOf(row),
    origin,
    cursor: placeOf(row),
  };
}

function whoOf({ actor, actor_name: name }: AuditRow): string {
  return actor.startsWith("user:") ? (name ?? REMOVED) : (NAMES[actor] ?? actor);
}

/** Unchanged values identify the object, such as the source of a run. */
function changesOf({ detail, before, concerned_name: person }: AuditRow): AuditChange[] {
  const names = [...new Set([...Object.keys(detail), ...Object.keys(before ?? {})])];
  const concerned = "user_id" in detail ? [{ name: "member", before: null, after: person ?? REMOVED }] : [];
  const others = names
    .filter((name) => name !== "user_id")
    .map((name) => {
      const after = name in detail ? valueText(detail[name]) : null;
      const earlier = before !== null && name in before ? valueText(before[name]) : null;
      return { name: wordsOf(name), before: earlier === after ? null : earlier, after };
    });
  return [...concerned, ...others];
}

/** Settings of sources have names such as connectedAt, others such as expires_at. */
function wordsOf(name: string): string {
  return name.replaceAll(/_|(?=[A-Z])/gu, " ").toLowerCase();
}

/** "none" stands for null and for an empty list. */
function valueText(value: unknown): string {
  if (value === null || value === undefined) return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(valueText).join(", ");
  if (typeof value !== "string") return JSON.stringify(value);
  return value.replace(/^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}):\d{2}(?:\.\d+)?Z$/u, "$1 $2 UTC");
}

function readStoredName(subject: string, name: string): string {
  if (STORED_NAME.test(name)) return name;
  throw invalid(`${subject} must be a name as the audit stores it, such as operator or token.create.`);
}

/** As the database orders rows. */
function placeOf({ position, audit_id: id }: AuditRow): string {
  return `${position}~${id}`;
}

/** null = the first page. Throws a `Refusal` with that sentence. */
function readPlace(place: string | null, sentence: string): AuditPlace {
  if (place === null) return NEWEST;
  const { position = "", day = "", id: auditId = "" } = CURSOR.exec(place)?.groups ?? {};
  if (dayFromText(day) === null) throw invalid(sentence);
  return { position, auditId };
}

/** Events that are no action of ours: of the store platform, of sign-ins, of a worker. */
const WORDS = {
  "source.uninstalled": "Uninstalled the app in the shop",
  "plan.purchase": "Changed the subscription",
  "billing.end": "Ended billing",
  "audit.delete": "Deleted old audit entries",
  "demo.clear": "Emptied the demo store",
  "user.recover": "Used a recovery link",
  "session.begin": "Signed in",
  "session.prove": "Confirmed their identity",
  "session.refuse": "Failed to sign in",
  "session.end": "Signed out",
  "privacy.customers_data_request": "Requested a customer's data",
  "privacy.customers_redact": "Requested the redaction of a customer",
  "privacy.shop_redact": "Requested the erasure of the shop",
  "secret.add": "Added a root secret",
  "secret.retire": "Removed a root secret",
};

/** Wording by the name of the right or event, for everything that the audit contains and rights allow. */
export const AUDIT_WORDS: Readonly<Record<string, string>> = {
  ...Object.fromEntries([...LISTS, ...ACTIONS].map(({ name, past }) => [name, past])),
  ...WORDS,
};
