import { folded } from "../../metrics/order-rules.ts";
import { REASON_GROUPS } from "../../metrics/reason-groups.ts";
import { findReasonGroups } from "../../store/queries/fit.ts";
import { raiseDataVersion } from "../../store/queries/publish.ts";
import { defineAction } from "../action.ts";
import type { Field } from "../field.ts";
import { readOneOf, readText } from "../input.ts";
import { invalid } from "../refusal.ts";
import { putReasonGroups } from "./queries.ts";

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
    const earlier = (await findReasonGroups(connection, shopKey)) ?? {};
    const before = new Map(Object.entries(earlier));
    const all = new Map([...new Map([...before, ...given])].filter(([, group]) => group !== ""));
    if (all.size > MOST_REASONS) {
      throw invalid(`At most ${MOST_REASONS} reasons can have a group. Remove some first.`, "reasons");
    }
    const changed = [...given].filter(([reason, group]) => (before.get(reason) ?? "") !== group);
    if (changed.length === 0) return { result: earlier, done: "Nothing changed.", audit: null };
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
