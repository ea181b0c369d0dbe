/**
 * The platform's search syntax, as far as syncs use it: `field:value`, the operators < <= > >=, quotes, AND, OR,
 * NOT, a leading minus and parentheses. A field that the list does not know is refused, where the platform would
 * silently match everything.
 */
export type SearchFields<Item> = Record<string, (item: Item) => number | string | boolean>;

export type Predicate<Item> = (item: Item) => boolean;

type Token =
  | { kind: "(" | ")" | "AND" | "OR" | "NOT" }
  | { kind: "term"; field: string; operator: string; value: string };

/** Numbers stand for times in seconds and for ids; text is compared without case. */
export function compileSearch<Item>(query: string, fields: SearchFields<Item>): Predicate<Item> {
  const tokens = tokenize(query);
  let at = 0;
  const parseOr = (): Predicate<Item> => {
    let left = parseAnd();
    while (tokens[at]?.kind === "OR") {
      at += 1;
      const one = left;
      const other = parseAnd();
      left = (item) => one(item) || other(item);
    }
    return left;
  };
  const parseAnd = (): Predicate<Item> => {
    let left = parseNot();
    for (
      let token = tokens[at];
      token !== undefined && token.kind !== "OR" && token.kind !== ")";
      token = tokens[at]
    ) {
      if (token.kind === "AND") at += 1;
      const one = left;
      const other = parseNot();
      left = (item) => one(item) && other(item);
    }
    return left;
  };
  const parseNot = (): Predicate<Item> => {
    const token = tokens[at];
    at += 1;
    if (token?.kind === "NOT") {
      const inner = parseNot();
      return (item) => !inner(item);
    }
    if (token?.kind === "(") {
      const inner = parseOr();
      if (tokens[at]?.kind !== ")") throw new SearchError(`Missing ) in ${query}`);
      at += 1;
      return inner;
    }
    if (token?.kind !== "term") throw new SearchError(`Unexpected end or operator in ${query}`);
    return termOf(token, fields);
  };
  if (tokens.length === 0) return () => true;
  const predicate = parseOr();
  if (at < tokens.length) throw new SearchError(`Unexpected ) in ${query}`);
  return predicate;
}

export class SearchError extends Error {}

const PIECE =
  /\s+|\(|\)|-(?=[a-z_(])|(?:AND|OR|NOT)(?=[\s()])|([a-z_]+):(>=|<=|>|<)?(?:'([^']*)'|"([^"]*)"|([^\s()]+))/y;

function tokenize(query: string): Token[] {
  const tokens: Token[] = [];
  PIECE.lastIndex = 0;
  while (PIECE.lastIndex < query.length) {
    const from = PIECE.lastIndex;
    const match = PIECE.exec(query);
    if (match === null) throw new SearchError(`Cannot read the search from: ${query.slice(from)}`);
    const [text, field, operator] = match;
    if (text.trim() === "") continue;
    if (field !== undefined) {
      tokens.push({
        kind: "term",
        field,
        operator: operator ?? "=",
        value: match[3] ?? match[4] ?? match[5] ?? "",
      });
    } else if (text === "-") {
      tokens.push({ kind: "NOT" });
    } else {
      tokens.push({ kind: text as "(" | ")" | "AND" | "OR" | "NOT" });
    }
  }
  return tokens;
}

function termOf<Item>(token: Extract<Token, { kind: "term" }>, fields: SearchFields<Item>): Predicate<Item> {
  const read = Object.hasOwn(fields, token.field) ? fields[token.field] : undefined;
  if (read === undefined) throw new SearchError(`The search field ${token.field} is not known here`);
  const number = numberOf(token.value);
  const text = token.value.toLowerCase();
  return (item) => {
    const value = read(item);
    if (typeof value !== "number") return token.operator === "=" && String(value).toLowerCase() === text;
    if (Number.isNaN(number))
      throw new SearchError(`${token.field} needs a number or a time, not ${token.value}`);
    return compare(value, token.operator, number);
  };
}

function compare(value: number, operator: string, other: number): boolean {
  switch (operator) {
    case ">":
      return value > other;
    case ">=":
      return value >= other;
    case "<":
      return value < other;
    case "<=":
      return value <= other;
    default:
      return value === other;
  }
}

/** A plain number, or a date or time as seconds since 1970. */
function numberOf(value: string): number {
  return /^\d+$/.test(value) ? Number(value) : Date.parse(value) / 1000;
}
