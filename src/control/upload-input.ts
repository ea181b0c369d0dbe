import { dayFromText, dayToText } from "../lib/month.ts";
import type { UploadFile } from "../store/queries/import-upload.ts";
import { FILE_NAMES } from "../sync/connectors/csv/file-formats.ts";
import type { FileName } from "../sync/connectors/csv/file-formats.ts";
import { besideStoreProblem } from "../sync/connectors/csv/folder-files.ts";
import { fileOfName, MOST_UPLOAD_BYTES } from "../sync/connectors/csv/upload-plan.ts";
import { quoted, readDay } from "./input.ts";
import { impossible, invalid } from "./refusal.ts";

/** A file as the browser names it: how many bytes it has is text of a form. */
export type GivenFile = { name: string; bytes: string };

const GIB = 1024 ** 3;

/** The files of an upload. Throws `invalid` for a name, a size or a sum that is not allowed. */
export function readUploadFiles(given: readonly GivenFile[]): UploadFile[] {
  const files = given.map(readUploadFile);
  if (files.length === 0) throw invalid(`Choose at least one file: ${namesSentence()}.`);
  for (const name of FILE_NAMES) {
    const [first, second] = files.filter((file) => fileOfName(file.name) === name);
    if (second !== undefined && first !== undefined) {
      throw invalid(`${first.name} and ${second.name}: there must be only one of them.`);
    }
  }
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  if (bytes <= MOST_UPLOAD_BYTES) return files;
  const size = `${(bytes / GIB).toFixed(2)} GB`;
  throw invalid(`The files are ${size} together; an upload takes at most ${MOST_UPLOAD_BYTES / GIB} GB.`);
}

function readUploadFile({ name, bytes: text }: GivenFile): UploadFile {
  if (fileOfName(name) === null) {
    throw invalid(`${quoted(name)} is no file of an import: ${namesSentence()}.`);
  }
  const bytes = /^\d{1,15}$/u.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(bytes)) throw invalid(`The size of ${name} must be a whole number of bytes.`);
  if (bytes === 0) throw invalid(`${name} is empty, not even a header row.`);
  return { name, bytes };
}

function namesSentence(): string {
  return `its files are named ${FILE_NAMES.map((name) => `${name}.csv`).join(", ")}, and each may end in .csv.gz`;
}

/** Throws `impossible` for files that a connected store (null = none is) provides itself. */
export function refuseBesideStore(files: readonly UploadFile[], connectedStore: string | null): void {
  const named = files.map(({ name }) => ({ name: fileOfName(name) as FileName, fileName: name }));
  const problem = besideStoreProblem(named, connectedStore, "upload");
  if (problem !== null) throw impossible(`${problem}.`);
}

/**
 * M5: the moment up to which files are complete that are complete up to the end of a day, in UTC; empty or today = now.
 * Throws `invalid` for a day to come.
 */
export function readLastDay(text: string, now: Date): Date {
  if (text === "") return now;
  const today = now.toISOString().slice(0, 10);
  const day = readDay("The last day", text);
  if (day > today) {
    throw invalid(`The last day, ${day}, is in the future: it may be at most today, ${today}.`);
  }
  if (day === today) return now;
  return new Date(`${dayToText((dayFromText(day) as number) + 1)}T00:00:00Z`);
}
