import { Marked } from "marked";
import { escapeHtml, headingId } from "./docs-html.ts";

export type Rendered = {
  html: string;
  /** The first heading, and the first sentence as plain text. */
  title: string;
  summary: string;
  /** Headings of the second level. */
  sections: { id: string; text: string }[];
};

/** How a document finds what it points to. */
export type Surroundings = {
  /** The address of what a link names; null = it is not served, and only its text is shown. */
  linkTo: (target: string) => string | null;
  /** The text of an SVG picture. */
  picture: (target: string) => string;
};

/** Renders a Markdown document of this project. Its HTML passes through: the documents are our own. */
export function renderMarkdown(markdown: string, surroundings: Surroundings): Rendered {
  const sections: Rendered["sections"] = [];
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        const inner = this.parser.parseInline(tokens);
        if (depth === 1) return `<h1>${inner}</h1>\n`;
        const id = headingId(text);
        if (depth === 2) sections.push({ id, text: plainText(inner) });
        return `<h${depth} id="${id}"><a class="anchor" href="#${id}">${inner}</a></h${depth}>\n`;
      },
      link({ href, tokens }) {
        const inner = this.parser.parseInline(tokens);
        const address = surroundings.linkTo(href);
        return address === null ? inner : `<a href="${escapeHtml(address)}">${inner}</a>`;
      },
      image({ href, text }) {
        const picture = surroundings
          .picture(href)
          .replace("<svg ", `<svg role="img" aria-label="${escapeHtml(text)}" `);
        return `<span class="picture">${picture}</span>`;
      },
      code({ text, lang = "" }) {
        return `${codeBlock(text, lang)}\n`;
      },
      table({ header, rows }) {
        const row = (cells: typeof header, tag: string): string =>
          `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join("")}</tr>`;
        const body = rows.map((cells) => row(cells, "td")).join("\n");
        return tableBlock(`<thead>${row(header, "th")}</thead><tbody>${body}</tbody>`);
      },
    },
  });
  const html = marked.parse(markdown, { async: false });
  return { html, sections, title: firstOf(html, "h1"), summary: firstSentence(firstOf(html, "p")) };
}

/** A short description in Markdown, such as the contract's. */
export function renderInline(markdown: string): string {
  return new Marked().parse(markdown, { async: false });
}

/** A code block that keyboards can scroll. */
export function codeBlock(text: string, language: string): string {
  const name = language === "" ? "" : ` class="language-${escapeHtml(language)}"`;
  return `<pre tabindex="0"><code${name}>${escapeHtml(text)}</code></pre>`;
}

/** A table that scrolls by itself where the page is narrow. */
export function tableBlock(inner: string): string {
  return `<div class="table" tabindex="0"><table>${inner}</table></div>\n`;
}

function firstOf(html: string, tag: string): string {
  return plainText(new RegExp(`<${tag}>(.*?)</${tag}>`, "su").exec(html)?.[1] ?? "");
}

function firstSentence(text: string): string {
  return /^.*?[.!?](?=\s|$)/u.exec(text)?.[0] ?? text;
}

/** The words of HTML. */
export function plainText(html: string): string {
  return html
    .replaceAll(/<[^>]*>/gu, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&")
    .replaceAll(/\s+/gu, " ")
    .trim();
}
