/** One line of a scrape. */
export type Sample = { name: string; labels: Readonly<Record<string, string>>; value: number };

/** Reads the text format of Prometheus, as /metrics has it; lines of another form are left out. */
export function parseSamples(text: string): Sample[] {
  return text.split("\n").flatMap((line) => {
    const [, name, labels = "", value] = /^([a-z_:][\w:]*)(?:\{(.*)\})? (\S+)$/iu.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/gu)].map(([, key, label]) => [key, label]);
    return [{ name, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) }];
  });
}

/** The sum of the samples of a metric that `isMeant`; 0 when there are none. */
export function sumOf(
  samples: readonly Sample[],
  name: string,
  isMeant: (labels: Sample["labels"]) => boolean = () => true,
): number {
  const meant = samples.filter((sample) => sample.name === name && isMeant(sample.labels));
  return meant.reduce((sum, { value }) => sum + value, 0);
}

/** As histogram_quantile of Prometheus: within its bucket a value is taken to be spread evenly. NaN when nothing was measured. */
export function quantileOf(
  samples: readonly Sample[],
  name: string,
  share: number,
  isMeant: (labels: Sample["labels"]) => boolean = () => true,
): number {
  const counts = new Map<number, number>();
  for (const { labels, value } of samples.filter(
    (sample) => sample.name === `${name}_bucket` && isMeant(sample.labels),
  )) {
    const bound = labels["le"] === "+Inf" ? Infinity : Number(labels["le"]);
    counts.set(bound, (counts.get(bound) ?? 0) + value);
  }
  const buckets = [...counts].toSorted(([one], [other]) => one - other);
  const rank = share * (buckets.at(-1)?.[1] ?? NaN);
  const index = buckets.findIndex(([, count]) => count >= rank);
  const [bound, count] = buckets[index] ?? [NaN, NaN];
  const [lowerBound, lowerCount] = buckets[index - 1] ?? [0, 0];
  if (bound === Infinity) return lowerBound;
  return lowerBound + ((bound - lowerBound) * (rank - lowerCount)) / (count - lowerCount);
}
