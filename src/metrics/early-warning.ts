import { FEWEST_BASE_DAYS, FEWEST_CATEGORY_LINES, PRIOR_LINES, ageCurve, shareAt } from "./age-curve.ts";
import type { AgeCurve, BaseLines } from "./age-curve.ts";
import { compareCodePoints } from "./code-point.ts";
import { tailProbability, type GammaRate } from "./negative-binomial.ts";

/** From the narrowest to the broadest. A product has its lines in new condition (M14). */
const WARNED_KINDS = ["sku", "product", "family", "analytics_category"] as const;
export type WarnedKind = (typeof WARNED_KINDS)[number];

/** The place of a kind from the narrowest to the broadest. */
export function breadthOf({ kind }: { kind: WarnedKind }): number {
  return WARNED_KINDS.indexOf(kind);
}

/** One SKU and product in one condition, in order lines; ages are days at the as-of day. */
export type ListingLines = {
  sku: string | null;
  productGid: string | null;
  used: boolean;
  family: string | null;
  category: string | null;
  base: BaseLines;
  recent: {
    /** Order days that sold something, and how many lines. */
    ageDays: readonly number[];
    lines: readonly number[];
    /** One place for each line that has come back: the age of its order, and which order it is. */
    returnedAgeDays: readonly number[];
    returnedOrders: readonly string[];
  };
};

/** Ages of the order days that are judged together: below 7, 14, 28, 56 days. */
export const WINDOWS_DAYS = [7, 14, 28, 56] as const;
export const RECENT_DAYS = Math.max(...WINDOWS_DAYS);
const FEWEST_RETURNED_LINES = 5;
const LEAST_RATIO = 1.5;
const LARGEST_P = 0.001;
/** The part of an entity's excess from which a narrower one is named as part of it. */
const PART_OF_EXCESS = 0.2;

/** Lines sold in a window; those returned, counting only one per order; and the expected number so far. */
type WindowLines = { windowDays: number; lines: number; returnedLines: number; expectedLines: number };

/** An entity with significantly more returns than earlier sales had at the same age. */
export type EarlyWarning = WindowLines & {
  kind: WarnedKind;
  key: string;
  /** Chance of as many or more if nothing had changed, over the four windows and all entities of the kind. */
  p: number;
  /** Narrower entities that hold a fifth or more of the excess by lines of this one; the largest first, then the narrowest. */
  parts: { kind: WarnedKind; key: string; excessLines: number }[];
};

/** Names an entity among all kinds. */
export function entityId({ kind, key }: { kind: string; key: string }): string {
  return `${kind}:${key}`;
}

/** Returned lines beyond the expected ones. */
export function excessLines({ returnedLines, expectedLines }: WindowLines): number {
  return returnedLines - expectedLines;
}

/** A store's sales and returns by an as-of day. */
export type StoreEvidence = {
  listings: readonly ListingLines[];
  /** Days of the base period on which anything was sold. */
  baseSoldDays: number;
};

/**
 * M17: every entity that calls for a warning. None when the store sold on fewer than 60 days of the base period, and
 * when nothing of it came back.
 */
export function findEarlyWarnings(evidence: StoreEvidence, horizonDays: number): EarlyWarning[] {
  const { listings, baseSoldDays } = evidence;
  if (baseSoldDays < FEWEST_BASE_DAYS) return [];
  const curveOf = curvesByCategory(listings, horizonDays);
  if (curveOf === null) return [];
  const entities = entitiesOf(listings.map((listing) => ({ listing, curve: curveOf(listing.category) })));
  const sellers = new Map<WarnedKind, number>();
  for (const { kind, recentLines } of entities.values()) {
    if (recentLines > 0) sellers.set(kind, (sellers.get(kind) ?? 0) + 1);
  }
  return [...entities.values()].flatMap((entity) => {
    const found = mostUnlikelyWindow(entity, sellers.get(entity.kind) ?? 0);
    if (found === null) return [];
    return { kind: entity.kind, key: entity.key, ...found, parts: partsOf(entity, found) };
  });
}

type Member = { listing: ListingLines; curve: AgeCurve };

type Entity = {
  kind: WarnedKind;
  key: string;
  members: Member[];
  recentLines: number;
  returnedLines: number;
};

/** The curve of a category with enough returned lines, else the store's; null when the store has none. */
function curvesByCategory(listings: readonly ListingLines[], horizonDays: number) {
  const store = ageCurve(
    listings.map(({ base }) => base),
    horizonDays,
  );
  if (store === null) return null;
  const curves = new Map<string | null, AgeCurve>();
  for (const [category, members] of Map.groupBy(listings, (listing) => listing.category)) {
    const own = ageCurve(
      members.map(({ base }) => base),
      horizonDays,
    );
    const isEnough = category !== null && own !== null && own.returnedLines >= FEWEST_CATEGORY_LINES;
    curves.set(category, isEnough ? own : store);
  }
  return (category: string | null): AgeCurve => curves.get(category) ?? store;
}

/** The entities of listings, each with its own part of the given listings. */
function entitiesOf(members: readonly Member[]): Map<string, Entity> {
  const entities = new Map<string, Entity>();
  for (const member of members) {
    const { recent } = member.listing;
    for (const named of entitiesNamedBy(member.listing)) {
      const entity = entities.get(entityId(named)) ?? {
        ...named,
        members: [],
        recentLines: 0,
        returnedLines: 0,
      };
      entities.set(entityId(named), entity);
      entity.members.push(member);
      entity.recentLines += sum(recent.lines);
      entity.returnedLines += recent.returnedOrders.length;
    }
  }
  return entities;
}

function* entitiesNamedBy({
  sku,
  productGid,
  used,
  family,
  category,
}: ListingLines): Generator<{ kind: WarnedKind; key: string }> {
  if (sku !== null) yield { kind: "sku", key: sku };
  if (productGid !== null && !used) yield { kind: "product", key: productGid };
  if (family !== null) yield { kind: "family", key: family };
  if (category !== null) yield { kind: "analytics_category", key: category };
}

/** The window with the smallest p, when that calls for a warning. */
function mostUnlikelyWindow(entity: Entity, sellers: number): (WindowLines & { p: number }) | null {
  if (entity.returnedLines < FEWEST_RETURNED_LINES) return null;
  const rate = rateOf(entity);
  let found: (WindowLines & { p: number }) | null = null;
  for (const windowDays of WINDOWS_DAYS) {
    const { exposure, ...counts } = countWindow(entity, rate, windowDays);
    const { returnedLines, expectedLines } = counts;
    if (returnedLines < Math.max(FEWEST_RETURNED_LINES, LEAST_RATIO * expectedLines)) continue;
    const p = WINDOWS_DAYS.length * sellers * tailProbability(returnedLines, rate, exposure);
    if (p > LARGEST_P || p >= (found?.p ?? Infinity)) continue;
    found = { ...counts, p };
  }
  return found;
}

/** The rate per line: the entity's own in the base period, with a weak prior from its categories or store. */
function rateOf({ members }: Entity): GammaRate {
  let lines = 0;
  let returnedLines = 0;
  let weighed = 0;
  let guessed = 0;
  for (const { listing, curve } of members) {
    const { base, recent } = listing;
    const weight = base.lines + sum(recent.lines);
    weighed += weight;
    guessed += (weight * curve.returnedLines) / curve.lines;
    lines += base.lines;
    for (const [place, lag] of base.lagDays.entries()) {
      if (lag < curve.shareByAge.length) returnedLines += base.returnedLines[place] as number;
    }
  }
  return { shape: returnedLines + PRIOR_LINES, weight: lines + (PRIOR_LINES * weighed) / guessed };
}

/** Lines of one order count once: they are returned for one reason, in one parcel. `exposure` is lines by their share. */
function countWindow(
  { members }: Entity,
  rate: GammaRate,
  windowDays: number,
): WindowLines & { exposure: number } {
  let lines = 0;
  let exposure = 0;
  const orders = new Set<string>();
  for (const { listing, curve } of members) {
    const { recent } = listing;
    for (const [place, age] of recent.ageDays.entries()) {
      if (age >= windowDays) continue;
      lines += recent.lines[place] as number;
      exposure += (recent.lines[place] as number) * shareAt(curve, age);
    }
    for (const [place, order] of recent.returnedOrders.entries()) {
      if ((recent.returnedAgeDays[place] as number) < windowDays) orders.add(order);
    }
  }
  return {
    windowDays,
    lines,
    returnedLines: orders.size,
    expectedLines: (exposure * rate.shape) / rate.weight,
    exposure,
  };
}

/** Narrower entities by their part of the entity's own lines: a SKU of two products counts in each with its own part. */
function partsOf(entity: Entity, found: WindowLines): EarlyWarning["parts"] {
  return [...entitiesOf(entity.members).values()]
    .filter((part) => breadthOf(part) < breadthOf(entity) && part.returnedLines > 0)
    .map((part) => ({
      kind: part.kind,
      key: part.key,
      excessLines: excessLines(countWindow(part, rateOf(part), found.windowDays)),
    }))
    .filter((part) => part.excessLines >= PART_OF_EXCESS * excessLines(found))
    .toSorted(
      (left, right) =>
        right.excessLines - left.excessLines ||
        breadthOf(left) - breadthOf(right) ||
        compareCodePoints(left.key, right.key),
    );
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
