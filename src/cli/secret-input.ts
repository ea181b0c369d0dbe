import { readFile } from "node:fs/promises";
import { impossible, invalid } from "../actions/refusal.ts";

/** Longer input is a mistake, such as a file of something else. */
const LONGEST_BYTES = 65_536;

/** Where a secret comes from: never from the command line, which other users of the machine can read. */
export type SecretOptions = { tokenStdin?: boolean; tokenFile?: string };

/** Throws a `Refusal` unless exactly one place is named, and when it cannot be read or is empty. */
export async function readSecret(options: SecretOptions): Promise<string> {
  const { tokenStdin = false, tokenFile } = options;
  if (tokenStdin === (tokenFile !== undefined)) throw invalid("Give one of --token-stdin and --token-file.");
  return tokenFile === undefined ? readStandardInput() : readSecretFile("--token-file", tokenFile);
}

/** A file that holds nothing but the secret. */
export async function readSecretFile(option: string, file: string): Promise<string> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch {
    throw impossible(`The file of ${option} cannot be read.`);
  }
  return required(text, `The file of ${option} is empty.`);
}

async function readStandardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin) {
    chunks.push(chunk as Buffer);
    bytes += (chunk as Buffer).length;
    if (bytes > LONGEST_BYTES) throw invalid("The standard input is too long for a token.");
  }
  return required(Buffer.concat(chunks).toString("utf8"), "There is no token on the standard input.");
}

function required(text: string, problem: string): string {
  const secret = text.trim();
  if (secret === "") throw invalid(problem);
  return secret;
}
