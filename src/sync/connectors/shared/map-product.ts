import type { VariantRow } from "../../../store/queries/catalogue.ts";
import type { ExportedProductRow } from "../csv/file-formats.ts";
import { minorOf } from "./money.ts";
import { cleanGroup, cleanKey, cleanLabel, cleanLongText } from "./text.ts";
import { SourceFailed, type SettingOption } from "../../connector.ts";

/** A product and its variants as a store states them. */
export type SourceProduct = { product: ProductRecord; variants: VariantRecord[] };

export type ProductRecord = {
  id: string;
  title: string;
  handle: string | null;
  vendor: string | null;
  productType: string | null;
  tags: readonly string[];
  category: string | null;
  imageUrl: string | null;
  imageAlt: string | null;
  /** Of the family; null unless a setting names where it stands. */
  metafield: string | null;
};

export type VariantRecord = {
  id: string;
  sku: string | null;
  title: string | null;
  position: number;
  options: readonly { name: string; value: string }[];
  /** As decimal text. */
  unitCost: { amount: string | number; currencyCode: string } | null;
  imageUrl: string | null;
};

/** The catalogue rows of a product, as they are staged. */
export type MappedProduct = { product: ExportedProductRow; variants: VariantRow[] };

/** The catalogue rows of a product; `currencyCode` is the shop's. */
export function mapProduct(
  { product, variants }: SourceProduct,
  settings: ProductSettings,
  currencyCode: string,
): MappedProduct {
  const inOrder = variants.toSorted((left, right) => left.position - right.position);
  return {
    product: {
      product_gid: product.id,
      title: cleanLabel(product.title) ?? product.id,
      handle: cleanLabel(product.handle),
      vendor: cleanLabel(product.vendor),
      family: familyOf(product, settings),
      analytics_category: cleanGroup(product.category),
      image_url: cleanLongText(product.imageUrl),
      image_alt: cleanLongText(product.imageAlt),
    },
    variants: inOrder.map((variant) => mapVariant(product.id, variant, inOrder, settings, currencyCode)),
  };
}

/** The named metafield, else the first tag with the prefix, else the product's type. */
function familyOf(
  product: ProductRecord,
  { familyMetafield, familyTagPrefix }: ProductSettings,
): string | null {
  if (familyMetafield !== null) return cleanGroup(product.metafield);
  if (familyTagPrefix === null) return cleanGroup(product.productType);
  const tag = product.tags.toSorted().find((text) => text.startsWith(familyTagPrefix));
  return tag === undefined ? null : cleanGroup(tag.slice(familyTagPrefix.length));
}

/** M14: a used variant names the new one that has the same other options. */
function mapVariant(
  productGid: string,
  variant: VariantRecord,
  all: readonly VariantRecord[],
  settings: ProductSettings,
  currencyCode: string,
): VariantRow {
  const used = isUsed(variant, settings);
  const others = otherOptions(variant, settings);
  const counterpart = used
    ? all.find((other) => !isUsed(other, settings) && otherOptions(other, settings) === others)
    : undefined;
  const cost = variant.unitCost;
  return {
    variant_id: variant.id,
    product_gid: productGid,
    sku: cleanKey(variant.sku),
    title: cleanLabel(variant.title),
    used,
    counterpart_sku: cleanKey(counterpart?.sku ?? null),
    unit_cost_minor: cost?.currencyCode === currencyCode ? minorOf(cost.amount, currencyCode) : null,
    image_url: cleanLongText(variant.imageUrl),
    options: statedOptions(variant),
  };
}

/** A product without options has one variant of title “Default Title”: no option that anybody chose. */
function statedOptions({ options }: VariantRecord): VariantRow["options"] {
  return options.flatMap((option) => {
    const [name, value] = [cleanLabel(option.name), cleanLabel(option.value)];
    const isDefault = name === "Title" && value === "Default Title";
    return name === null || value === null || isDefault ? [] : [{ name, value }];
  });
}

function isUsed({ options }: VariantRecord, { conditionOption, usedConditions }: ProductSettings): boolean {
  const condition = options.find(({ name }) => foldName(name) === conditionOption);
  return condition !== undefined && usedConditions.has(foldName(condition.value));
}

function otherOptions({ options }: VariantRecord, { conditionOption }: ProductSettings): string {
  const others = options.filter(({ name }) => foldName(name) !== conditionOption);
  return JSON.stringify(others.map(({ name, value }) => [name, value]));
}

/** Names of options and conditions are compared without case and surrounding blanks. */
function foldName(name: string): string {
  return name.trim().toLowerCase();
}

/** The operator's settings for the products of a store. */
export type ProductSettings = {
  /** The metafield that names a product's family, if its type does not; only for Shopify. */
  familyMetafield: { namespace: string; key: string } | null;
  familyTagPrefix: string | null;
  /** Name of the option that marks used variants, in lower case. */
  conditionOption: string;
  /** Its values that mean used, in lower case. */
  usedConditions: ReadonlySet<string>;
};

/** The options for them; `familyTag` describes that of the tag's prefix. */
export const productOptions = (familyTag: string): SettingOption[] => [
  {
    setting: "familyTagPrefix",
    flags: "--family-tag-prefix <prefix>",
    description: familyTag,
    label: "Prefix of the family tag",
    isList: false,
  },
  {
    setting: "conditionOption",
    flags: "--condition-option <name>",
    description: "the option that marks used variants (default: Condition)",
    label: "Condition option",
    isList: false,
  },
  {
    setting: "usedConditions",
    flags: "--used-condition <value...>",
    description: `its values that mean used (default: ${USED_CONDITIONS.join(", ")})`,
    label: "Values that mean used",
    isList: true,
  },
];

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
