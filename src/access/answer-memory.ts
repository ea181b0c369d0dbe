/** A JSON answer as text: its data, and the members of its meta but those that every request recomputes; or a file. */
export type AnswerText =
  | { kind: "json"; data: string; meta: string }
  | { kind: "file"; filename: string; type: string; content: string };

/** Answers by key; those not requested since the last sweep are evicted first, oldest first. */
type AnswerMemory = {
  get(key: string): AnswerText | undefined;
  set(key: string, answer: AnswerText): void;
  /** The most characters that an answer and its key may have: no answer pushes out all others. */
  longest: number;
  /** Never above the limit. */
  usedBytes(): number;
};

// Overhead of an entry's map slot and objects, besides its characters.
const ENTRY_BYTES = 200;
const BYTES_PER_CHARACTER = 2;
/** The part of the limit that one answer may take at most. */
const LARGEST_PART = 1 / 8;

type Entry = { answer: AnswerText; bytes: number; wasAsked: boolean };

/**
 * Creates a response cache of at most `limitBytes`; 0 stores nothing. A requested entry gets a second chance
 * when it is due for eviction, so that a hit neither reorders entries nor allocates memory.
 */
export function createAnswerMemory(limitBytes: number): AnswerMemory {
  // A map keeps the order of insertion.
  const entries = new Map<string, Entry>();
  const longest = Math.floor((limitBytes * LARGEST_PART - ENTRY_BYTES) / BYTES_PER_CHARACTER);
  let used = 0;
  const remove = (key: string, entry: Entry): void => {
    entries.delete(key);
    used -= entry.bytes;
  };
  const makeRoom = (): void => {
    for (const [key, entry] of entries) {
      if (used <= limitBytes) return;
      if (entry.wasAsked) {
        entries.delete(key);
        entries.set(key, { ...entry, wasAsked: false });
      } else {
        remove(key, entry);
      }
    }
  };
  return {
    get: (key) => {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entry.wasAsked = true;
      return entry.answer;
    },
    set: (key, answer) => {
      const known = entries.get(key);
      if (known !== undefined) remove(key, known);
      const characters = key.length + charactersOf(answer);
      if (characters > longest) return;
      const bytes = ENTRY_BYTES + BYTES_PER_CHARACTER * characters;
      entries.set(key, { answer, bytes, wasAsked: false });
      used += bytes;
      makeRoom();
    },
    longest,
    usedBytes: () => used,
  };
}

function charactersOf(answer: AnswerText): number {
  return answer.kind === "json"
    ? answer.data.length + answer.meta.length
    : answer.filename.length + answer.content.length;
}
