import { share } from "./rate.ts";

/** Returned units by the days between order and return. */
type UnitsByLag = readonly { lagDays: number; returnedUnits: number }[];

interface TimingBucket {
  bucket: string;
  fromDay: number;
  /** The last day inside; null for the last bucket, which is open. */
  toDay: number | null;
}

interface TimingBucketUnits extends TimingBucket {
  returnedUnits: number;
  /** Null when nothing was returned. */
  share: number | null;
  cumulativeShare: number | null;
}

export const TIMING_BUCKETS: readonly TimingBucket[] = [
  { bucket: "0-7", fromDay: 0, toDay: 7 },
  { bucket: "8-14", fromDay: 8, toDay: 14 },
  { bucket: "15-30", fromDay: 15, toDay: 30 },
  { bucket: "31-60", fromDay: 31, toDay: 60 },
  { bucket: "61-90", fromDay: 61, toDay: 90 },
  { bucket: "91+", fromDay: 91, toDay: null },
];

/** M3: returned units by how long they took; every bucket is present, also with zeros. */
export function timingBuckets(unitsByLag: UnitsByLag): TimingBucketUnits[] {
  const totalUnits = sumOf(unitsByLag);
  let cumulativeUnits = 0;
  return TIMING_BUCKETS.map((bucket) => {
    const { fromDay, toDay } = bucket;
    const returnedUnits = sumOf(
      unitsByLag.filter(({ lagDays }) => lagDays >= fromDay && (toDay === null || lagDays <= toDay)),
    );
    cumulativeUnits += returnedUnits;
    return {
      ...bucket,
      returnedUnits,
      share: share(returnedUnits, totalUnits),
      cumulativeShare: share(cumulativeUnits, totalUnits),
    };
  });
}

/** M3: the median of the days to return over all units; the mean of the middle two; null without units. */
export function medianDays(unitsByLag: UnitsByLag): number | null {
  const rows = unitsByLag.toSorted((left, right) => left.lagDays - right.lagDays);
  const totalUnits = sumOf(rows);
  if (totalUnits === 0) return null;
  const lagOfUnit = (position: number): number => {
    let unitsBefore = 0;
    for (const { lagDays, returnedUnits } of rows) {
      unitsBefore += returnedUnits;
      if (position < unitsBefore) return lagDays;
    }
    return 0;
  };
  return (lagOfUnit(Math.floor((totalUnits - 1) / 2)) + lagOfUnit(Math.floor(totalUnits / 2))) / 2;
}

function sumOf(rows: UnitsByLag): number {
  return rows.reduce((sum, { returnedUnits }) => sum + returnedUnits, 0);
}
