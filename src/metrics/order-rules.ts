import type { DocumentRefund, OrderDocument } from "./order.ts";

/** Kinds of orders that a workspace counts or leaves out. */
export const ORDER_KINDS = ["free_drafts", "free_orders", "unpaid", "voided"] as const;
export type OrderKind = (typeof ORDER_KINDS)[number];

/** Why an order is left out; the first that fits, in this order. */
export const LEFT_OUT = ["exchange", ...ORDER_KINDS, "channel", "tag"] as const;
export type LeftOut = (typeof LEFT_OUT)[number];

/** A workspace's rules: which orders (M1) and which refunds (M2) count. Texts are compared ignoring the case of A to Z. */
export type OrderRules = {
  /** Beginnings of the names that other apps give their exchange orders. */
  exchangeNames: readonly string[];
  /** Tags that they give them. */
  exchangeTags: readonly string[];
  leftOutKinds: readonly OrderKind[];
  leftOutChannels: readonly string[];
  leftOutTags: readonly string[];
  /** Whether a refund that names no return and restocks nothing counts as returned units; otherwise only its money counts. */
  refundsWithoutRestockReturn: boolean;
};

/** Every order counts, as in facts written before there were rules. */
export const NO_RULES: OrderRules = {
  exchangeNames: [],
  exchangeTags: [],
  leftOutKinds: [],
  leftOutChannels: [],
  leftOutTags: [],
  refundsWithoutRestockReturn: true,
};

/** Loop's exchange orders are recognized by name, because its tags are on the exchanged orders. */
export const DEFAULT_RULES: OrderRules = {
  ...NO_RULES,
  exchangeNames: ["EXC-"],
  exchangeTags: ["narvar_exchange_order"],
};

const DRAFT_CHANNEL = "shopify_draft_order";
const VOIDED = "VOIDED";

/** M1: why the order sells nothing under these rules; null = it counts. */
export function leftOutBy(document: OrderDocument, rules: OrderRules): LeftOut | null {
  const { tags = [], channel = null, unpaidStatus = null, free = false } = document;
  const listed = listedIn(rules);
  const ownTags = tags.map(folded);
  const hasTag = (texts: ReadonlySet<string>): boolean => ownTags.some((tag) => texts.has(tag));
  const kind = (name: OrderKind): LeftOut | null => (rules.leftOutKinds.includes(name) ? name : null);
  if (exchangeName(document.orderName ?? null, rules) !== null || hasTag(listed.exchangeTags))
    return "exchange";
  const ofPrice = free ? kind(channel === DRAFT_CHANNEL ? "free_drafts" : "free_orders") : null;
  const ofPayment = unpaidStatus === null ? null : kind(unpaidStatus === VOIDED ? "voided" : "unpaid");
  if (ofPrice !== null || ofPayment !== null) return ofPrice ?? ofPayment;
  if (channel !== null && listed.channels.has(folded(channel))) return "channel";
  return hasTag(listed.tags) ? "tag" : null;
}

/** The listed beginning of an exchange order's name; null = it has none. */
export function exchangeName(orderName: string | null, rules: OrderRules): string | null {
  const name = folded(orderName ?? "");
  const isBeginning = (beginning: string): boolean => name.startsWith(beginning);
  return rules.exchangeNames[listedIn(rules).exchangeNames.findIndex(isBeginning)] ?? null;
}

type Listed = {
  exchangeNames: readonly string[];
  exchangeTags: ReadonlySet<string>;
  channels: ReadonlySet<string>;
  tags: ReadonlySet<string>;
};

const listedByRules = new WeakMap<OrderRules, Listed>();

/** The lists of the rules, folded once for all orders: an order may have 250 tags, and rules 100, in thousands of orders. */
function listedIn(rules: OrderRules): Listed {
  const known = listedByRules.get(rules);
  if (known !== undefined) return known;
  const listed = {
    exchangeNames: rules.exchangeNames.map(folded),
    exchangeTags: new Set(rules.exchangeTags.map(folded)),
    channels: new Set(rules.leftOutChannels.map(folded)),
    tags: new Set(rules.leftOutTags.map(folded)),
  };
  listedByRules.set(rules, listed);
  return listed;
}

/** M2: an unlinked refund as these rules count it. */
export function refundByRules<Refund extends DocumentRefund>(refund: Refund, rules: OrderRules): Refund {
  const isMoneyOnly = refund.restockType === "NO_RESTOCK" && !rules.refundsWithoutRestockReturn;
  return isMoneyOnly ? { ...refund, units: 0 } : refund;
}

/** Only ASCII letters, which every PostgreSQL folds in the same way. */
export function folded(text: string): string {
  return text.replaceAll(/[A-Z]+/gu, (letters) => letters.toLowerCase());
}

/** Values by which two sets of rules can differ; orders without any of them count the same. In lower case. */
type RulesDifference = {
  names: string[];
  tags: string[];
  channels: string[];
  areFree: boolean;
  areUnpaid: boolean;
  haveRefundsWithoutRestock: boolean;
};

export function differenceOf(one: OrderRules, other: OrderRules): RulesDifference {
  const differing = (listOf: (rules: OrderRules) => readonly string[]): string[] => {
    const [left, right] = [one, other].map((rules) => new Set(listOf(rules).map(folded)));
    return [...(left ?? []), ...(right ?? [])].filter((each) => left?.has(each) !== right?.has(each));
  };
  const kinds = differing((rules) => rules.leftOutKinds);
  return {
    names: differing((rules) => rules.exchangeNames),
    tags: [...differing((rules) => rules.exchangeTags), ...differing((rules) => rules.leftOutTags)],
    channels: differing((rules) => rules.leftOutChannels),
    areFree: kinds.some((kind) => kind.startsWith("free")),
    areUnpaid: kinds.includes("unpaid") || kinds.includes("voided"),
    haveRefundsWithoutRestock: one.refundsWithoutRestockReturn !== other.refundsWithoutRestockReturn,
  };
}
