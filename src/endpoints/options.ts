import { invalidRequest } from "../contract/errors.ts";
import { BREAKDOWNS, OPTION_PREFIX } from "../contract/parameters.ts";
import { meantText, SHOWN_NAME } from "../lib/nearest-name.ts";
import { findOptionName, listOptionNames } from "../store/queries/selection.ts";
import type { BreakdownBy } from "../store/queries/report-breakdown.ts";
import type { Snapshot } from "../store/workspace.ts";

type BreakdownInput = { breakdownBy?: string | undefined; isTool?: true; normalized?: readonly string[] };

/**
 * A request with the name of its option as the workspace writes it (M22). What it does not know takes the default, which
 * `normalized` says; a tool is refused, with what it may have meant.
 */
export async function withKnownOption<Asked extends BreakdownInput>(
  { database, workspace }: Snapshot,
  input: Asked,
): Promise<Asked & BreakdownInput> {
  const name = optionOf(input.breakdownBy);
  if (name === null) return input;
  const found = await findOptionName(database, workspace, name);
  if (found !== null) return { ...input, breakdownBy: OPTION_PREFIX + found };
  if (input.isTool === true) {
    throw unknownOption(name, await listOptionNames(database, workspace));
  }
  const normalized = [...(input.normalized ?? []), "breakdownBy"];
  return { ...input, breakdownBy: undefined, normalized };
}

/** The dimension of a breakdown. */
export function asDivision(breakdownBy: string): { by: BreakdownBy; option: string | null } {
  const option = optionOf(breakdownBy);
  return option === null ? { by: breakdownBy as BreakdownBy, option } : { by: "option", option };
}

function optionOf(breakdownBy: string | undefined): string | null {
  return breakdownBy?.startsWith(OPTION_PREFIX) === true
    ? breakdownBy.slice(OPTION_PREFIX.length).trim()
    : null;
}

const MOST_NAMED = 10;

function unknownOption(name: string, all: readonly string[]) {
  const names = all.filter((each) => SHOWN_NAME.test(each));
  const known = names.map((each) => OPTION_PREFIX + each);
  const more = known.length > MOST_NAMED ? ", …" : "";
  const options =
    known.length === 0 ? "; this store has no options" : `, ${known.slice(0, MOST_NAMED).join(", ")}${more}`;
  const end = meantText(name, names, OPTION_PREFIX);
  return invalidRequest(`breakdownBy must be one of ${BREAKDOWNS.join(", ")}${options}${end}`, "breakdownBy");
}
