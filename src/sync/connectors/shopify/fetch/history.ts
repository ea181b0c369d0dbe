import type { OrderAccess } from "../install/access.ts";
import { RECORD_FORMAT, type BackfillState, type HistoryLimit, type ShopifyCursor } from "../settings.ts";

const DAY_MS = 86_400_000;
/**
 * Without read_all_orders the platform shows the orders of the last 60 days. 58 days are safe, because the data may be read up to
 * a day later.
 */
const SURELY_VISIBLE_DAYS = 58;
/** A limited backfill that is older than this would no longer see the same 60 days. */
const LONGEST_LIMITED_MS = DAY_MS;

/** The first day, as YYYY-MM-DD, whose orders the platform certainly shows, whatever the app's scopes. */
export function surelyVisibleFrom(now: Date): string {
  return dayOf(new Date(now.getTime() - SURELY_VISIBLE_DAYS * DAY_MS));
}

/** M5: the first day of the first month that is shown whole; a month seen in part would be served as if complete. */
export function firstWholeMonth(now: Date): string {
  const first = new Date(surelyVisibleFrom(now));
  const nextMonth = first.getUTCDate() === 1 ? 0 : 1;
  return dayOf(new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + nextMonth, 1)));
}

/** Whether an unfinished backfill's data does not fit that of a new one. */
export function isOutdated(
  backfill: BackfillState,
  { access, familyMetafield, now }: { access: OrderAccess; familyMetafield: string | null; now: Date },
): boolean {
  if (backfill.hasAllOrders !== access.hasAllOrders || backfill.familyMetafield !== familyMetafield)
    return true;
  if (backfill.recordFormat !== RECORD_FORMAT) return true;
  return !access.hasAllOrders && now.getTime() - Date.parse(backfill.startedAt) > LONGEST_LIMITED_MS;
}

/** The start of a backfill's orders; null: the first order, or the start of the stored ones. */
export function historyFromOf(cursor: ShopifyCursor, access: OrderAccess, now: Date): string | null {
  if (access.hasAllOrders) return null;
  return cursor.watermark === null ? firstWholeMonth(now) : (cursor.limit?.historyFrom ?? null);
}

/** The missing history after a run as of `asOf` is applied; null: none. */
export function limitAfter(cursor: ShopifyCursor, access: OrderAccess, asOf: Date): HistoryLimit | null {
  const { backfill, limit, watermark } = cursor;
  if (access.hasAllOrders) return backfill === null ? limit : null;
  const historyFrom = backfill === null ? (limit?.historyFrom ?? null) : backfill.historyFrom;
  const visibleFrom = surelyVisibleFrom(asOf);
  const isGap = watermark !== null && watermark < visibleFrom;
  const earlier = limit?.unread ?? null;
  const unread = isGap ? { from: earlier?.from ?? dayOf(new Date(watermark)), until: visibleFrom } : earlier;
  return { historyFrom, unread };
}

function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}
