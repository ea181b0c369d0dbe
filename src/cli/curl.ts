/** Quotes a text as one word of a shell. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A request as one line for a shell; `token` may be text that the shell fills in. */
export function curlLine(address: string, request: string, token: string): string {
  return `curl -sS -w '\\n' -H "Authorization: Bearer ${token}" "${address}${request}"`;
}
