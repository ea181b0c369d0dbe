/** What a simulated label source does wrong: to how many of the next requests, and after how many good ones. */
export interface Fault {
  kind: FaultKind;
  /** 1 unless told. */
  times?: number;
  /** 0 unless told. */
  after?: number;
  /** For `slow`: how long an answer takes; 1000 unless told. */
  millis?: number;
}

export type FaultKind =
  | "status_500"
  | "status_503"
  | "status_429"
  /** The connection is cut before the answer. */
  | "cut"
  /** The connection is cut in the middle of the answer. */
  | "cut_midway"
  | "slow"
  /** Half an answer, with the length of half an answer. */
  | "truncated_json"
  | "not_json"
  /** Numbers where text was, text where lists were. */
  | "changed_types"
  | "redirect"
  /** The next page is given on another host. */
  | "foreign_next_page";

export const FAULT_KINDS: readonly FaultKind[] = [
  "status_500",
  "status_503",
  "status_429",
  "cut",
  "cut_midway",
  "slow",
  "truncated_json",
  "not_json",
  "changed_types",
  "redirect",
  "foreign_next_page",
];

export interface FaultList {
  add(fault: Fault): void;
  /** The fault of this request, if it has one. */
  take(): Fault | null;
  clear(): void;
}

export function createFaultList(): FaultList {
  let waiting: Required<Fault>[] = [];
  return {
    add: (fault) => void waiting.push({ times: 1, after: 0, millis: 1000, ...fault }),
    take: () => {
      const fault = waiting[0];
      if (fault === undefined) return null;
      if (fault.after > 0) {
        fault.after -= 1;
        return null;
      }
      fault.times -= 1;
      if (fault.times <= 0) waiting = waiting.slice(1);
      return fault;
    },
    clear: () => {
      waiting = [];
    },
  };
}
