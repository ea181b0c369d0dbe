import { isLoopbackHost } from "./loopback.ts";
import { isWeakSecret } from "./weak-secret.ts";

type Exposed = { publicUrl: string | null; secret: string | null };

/** Options that are unsafe when other machines are served: approvals, webhooks and tokens depend on both. */
export function problemsOfExposure({ publicUrl, secret }: Exposed): string[] {
  const problems: string[] = [];
  const url = publicUrl === null ? null : new URL(publicUrl);
  if (url?.protocol === "http:" && !isLoopbackHost(url.hostname)) {
    problems.push("PUBLIC_URL must begin with https:// when HOST is not this machine itself.");
  }
  if (secret !== null && isWeakSecret(secret)) {
    problems.push(
      "RETURNS_SECRET must be random when HOST is not this machine itself, such as what openssl rand -hex 32 prints.",
    );
  }
  return problems;
}

/** Whether a database is another machine's, over a connection that need not be encrypted. A path of a socket has no host. */
export function isReadableInTransit(databaseUrl: string | null): boolean {
  const url = databaseUrl === null ? null : URL.parse(databaseUrl);
  if (url === null) return false;
  const host = url.searchParams.get("host") ?? url.hostname;
  if (host === "" || host.startsWith("/") || isLoopbackHost(host)) return false;
  const mode = url.searchParams.get("sslmode") ?? (url.searchParams.get("ssl") === "true" ? "require" : "");
  return !["require", "verify-ca", "verify-full"].includes(mode);
}
