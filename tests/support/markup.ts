/** An element of a page of ours, with its attributes as a browser would read them. */
export type MarkupElement = {
  name: string;
  attributes: Readonly<Record<string, string>>;
  children: (MarkupElement | string)[];
};

/** Elements without an end; in SVG and elsewhere a slash says the same. */
const VOID = new Set(["br", "col", "hr", "img", "input", "link", "meta"]);
const TOKEN = /<!doctype html>|<\/(?<end>\w+)\s*>|<(?<start>\w+)(?<attributes>[^>]*?)(?<closed>\/?)>|[^<]+/gu;
const ATTRIBUTE = /\s+(?<name>[\w:-]+)(?:="(?<value>[^"<]*)")?/gu;
const ENTITIES: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
};

/**
 * Reads markup as the tag `html` writes it: every attribute quoted, every ">" in a value escaped, every element ended. Throws
 * where it is anything else.
 */
export function readMarkup(markup: string): MarkupElement {
  const root: MarkupElement = { name: "", attributes: {}, children: [] };
  const open = [root];
  let read = 0;
  for (const { 0: token, index, groups } of markup.matchAll(TOKEN)) {
    if (index !== read) break;
    read += token.length;
    const parent = open.at(-1) as MarkupElement;
    if (groups?.["start"] !== undefined) {
      const name = groups["start"];
      const element = { name, attributes: attributesOf(groups["attributes"] ?? ""), children: [] };
      parent.children.push(element);
      if (groups["closed"] === "" && !VOID.has(name)) open.push(element);
    } else if (groups?.["end"] !== undefined) {
      if (parent.name !== groups["end"]) throw new Error(`</${groups["end"]}> ends <${parent.name}>`);
      open.pop();
    } else if (!token.startsWith("<")) {
      parent.children.push(decoded(token));
    }
  }
  if (read !== markup.length || open.length !== 1) {
    throw new Error(`this is no markup of ours: ${markup.slice(read, read + 80)}`);
  }
  return root;
}

/** Every element in it, whatever its depth, in the order of the document. */
export function elementsIn(element: MarkupElement): MarkupElement[] {
  const found: MarkupElement[] = [];
  const collect = ({ children }: MarkupElement): void => {
    for (const child of children) {
      if (typeof child === "string") continue;
      found.push(child);
      collect(child);
    }
  };
  collect(element);
  return found;
}

/** Its texts in the order of the document, without those in elements that `isLeftOut` names. */
export function textsIn(
  element: MarkupElement,
  isLeftOut: (element: MarkupElement) => boolean = () => false,
): string[] {
  return element.children.flatMap((child) => {
    if (typeof child === "string") return [child];
    return isLeftOut(child) ? [] : textsIn(child, isLeftOut);
  });
}

function attributesOf(text: string): Record<string, string> {
  const attributes: Record<string, string> = {};
  let read = 0;
  for (const { 0: whole, index, groups } of text.matchAll(ATTRIBUTE)) {
    if (index !== read) break;
    read += whole.length;
    attributes[groups?.["name"] ?? ""] = decoded(groups?.["value"] ?? "");
  }
  if (read !== text.trimEnd().length) throw new Error(`unquoted: ${text}`);
  return attributes;
}

function decoded(text: string): string {
  if (!text.includes("&")) return text;
  return text.replaceAll(/&[^\s;]*;?/gu, (entity) => {
    const character = ENTITIES[entity];
    if (character === undefined) throw new Error(`${entity} is no entity that html writes`);
    return character;
  });
}
