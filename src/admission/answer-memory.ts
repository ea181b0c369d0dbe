/** What an answer's text is around its freshness, which every request tells anew. */
export type AnswerText = { before: string; after: string };

/** Answers by key, the least recently used forgotten first. */
export type AnswerMemory = {
  get(key: string): AnswerText | undefined;
  set(key: string, answer: AnswerText): void;
  /** Never above the limit. */
  usedBytes(): number;
};

// What the map and the objects of an entry cost beside its characters.
const ENTRY_BYTES = 200;
const BYTES_PER_CHARACTER = 2;
/** One answer may take this part of the limit at most: no answer pushes out all others. */
const LARGEST_PART = 1 / 8;

/** Makes a memory of at most `limitBytes`; 0 remembers nothing. */
export function createAnswerMemory(limitBytes: number): AnswerMemory {
  // A map keeps the order of insertion: the first entry is the least recently used.
  const entries = new Map<string, AnswerText>();
  let used = 0;
  const remove = (key: string, entry: AnswerText): void => {
    entries.delete(key);
    used -= entryBytes(key, entry);
  };
  return {
    get: (key) => {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      return entry;
    },
    set: (key, entry) => {
      const known = entries.get(key);
      if (known !== undefined) remove(key, known);
      const bytes = entryBytes(key, entry);
      if (bytes > limitBytes * LARGEST_PART) return;
      entries.set(key, entry);
      used += bytes;
      for (const [oldKey, oldEntry] of entries) {
        if (used <= limitBytes) return;
        remove(oldKey, oldEntry);
      }
    },
    usedBytes: () => used,
  };
}

function entryBytes(key: string, { before, after }: AnswerText): number {
  return ENTRY_BYTES + BYTES_PER_CHARACTER * (key.length + before.length + after.length);
}
