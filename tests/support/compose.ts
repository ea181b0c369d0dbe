/** A value of a compose file. */
export type Yaml = string | Yaml[] | { [name: string]: Yaml };

type Line = { indent: number; text: string; number: number };

/**
 * Reads the part of YAML that compose.yml keeps to: maps, lists of texts, texts on one line, and lists in brackets. Anything
 * else is an error that names its line.
 */
export function parseCompose(source: string): { [name: string]: Yaml } {
  const lines = source
    .split("\n")
    .map((raw, index) => ({
      indent: raw.length - raw.trimStart().length,
      text: raw.trim(),
      number: index + 1,
    }))
    .filter(({ text }) => text !== "" && !text.startsWith("#"));
  const value = readBlock(lines, 0);
  const [extra] = lines;
  if (extra !== undefined) throw new Error(`line ${extra.number} is indented as no line above it`);
  if (typeof value === "string" || Array.isArray(value)) throw new Error("the file is no map");
  return value;
}

/** Takes the lines of one block from the front. */
function readBlock(lines: Line[], indent: number): Yaml {
  if (lines[0]?.text.startsWith("- ") === true) return readList(lines, indent);
  const map: { [name: string]: Yaml } = {};
  while (lines[0] !== undefined && lines[0].indent === indent) {
    const { text, number } = lines.shift() as Line;
    const parts = /^(?<name>[\w.-]+):(?: (?<value>.+))?$/u.exec(text)?.groups;
    if (parts?.["name"] === undefined) throw new Error(`line ${number} is no "name: value": ${text}`);
    if (parts["name"] in map) throw new Error(`line ${number} repeats ${parts["name"]}`);
    const deeper = lines[0] !== undefined && lines[0].indent > indent ? lines[0].indent : null;
    if (parts["value"] === undefined) map[parts["name"]] = deeper === null ? "" : readBlock(lines, deeper);
    else map[parts["name"]] = readScalar(parts["value"], number);
  }
  return map;
}

function readList(lines: Line[], indent: number): Yaml[] {
  const list: Yaml[] = [];
  while (lines[0] !== undefined && lines[0].indent === indent) {
    const { text, number } = lines.shift() as Line;
    if (!text.startsWith("- ")) throw new Error(`line ${number} is no item of a list: ${text}`);
    list.push(readScalar(text.slice(2), number));
  }
  return list;
}

function readScalar(text: string, number: number): Yaml {
  if (text.startsWith("[")) return JSON.parse(text) as string[];
  if (text.startsWith('"')) return JSON.parse(text) as string;
  // A colon and a space begin a map, a hash a comment, and the others have meanings of their own.
  if (/: | #|^[{}&*!|>'%@`]/u.test(text)) throw new Error(`line ${number} needs quotes: ${text}`);
  return text;
}
