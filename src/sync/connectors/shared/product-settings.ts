import { SourceFailed, type SettingOption } from "../../connector.ts";

/** What the operator chose about the products of a store. */
export type ProductSettings = {
  /** Where a product's family stands, if not in its type; of Shopify alone. */
  familyMetafield: { namespace: string; key: string } | null;
  familyTagPrefix: string | null;
  /** Name of the option that marks used variants, in lower case. */
  conditionOption: string;
  /** Its values that mean used, in lower case. */
  usedConditions: ReadonlySet<string>;
};

export const CONDITION_OPTIONS = [
  {
    setting: "conditionOption",
    flags: "--condition-option <name>",
    description: "the option that marks used variants (default: Condition)",
    label: "Option of used variants",
    isList: false,
  },
  {
    setting: "usedConditions",
    flags: "--used-condition <value...>",
    description: "its values that mean used",
    label: "Its values that mean used",
    isList: true,
  },
] as const satisfies readonly SettingOption[];

const USED_CONDITIONS = ["Used", "Pre-owned", "Refurbished", "Open box"];

type Settings = Readonly<Record<string, unknown>>;

/** Reads them from the settings of a connection to `title`; throws SourceFailed with what is wrong. */
export function readProductSettings(
  settings: Settings,
  title: string,
): Omit<ProductSettings, "familyMetafield"> {
  const used = settings["usedConditions"] ?? USED_CONDITIONS;
  if (!Array.isArray(used) || !used.every((value) => typeof value === "string")) {
    throw new SourceFailed(
      `The setting usedConditions of this ${title} connection is not a list of strings.`,
    );
  }
  return {
    familyTagPrefix: readText(settings, "familyTagPrefix", title),
    conditionOption: (readText(settings, "conditionOption", title) ?? "Condition").trim().toLowerCase(),
    usedConditions: new Set(used.map((value) => value.trim().toLowerCase())),
  };
}

/** A text among the settings; null = none. */
export function readText(settings: Settings, name: string, title: string): string | null {
  const value = settings[name] ?? null;
  if (value === null || value === "") return null;
  if (typeof value === "string") return value;
  throw new SourceFailed(`The setting ${name} of this ${title} connection is not a string.`);
}
