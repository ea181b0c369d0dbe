/** Percent-encoded values that have broken services before. */
export const CORPUS = [
  "%00 a%00b %ED%A0%80 %ED%BF%BF %C0%AF %F5%80%80%80 %FF % %E2%80%AE%D7%A9 %F0%9F%98%80 %EF%BB%BF %EF%BF%BF e%CC%81",
  "%C2%85 %0D%0AX-Injected:%201 %5Cu0000 ';drop%20table%20cohort;-- %25_%5C __proto__ constructor null undefined [] {}",
  "1e308 -1e308 -0 -1 0.0 9007199254740993 9223372036854775808 NaN Infinity 0x10 1_000 0000-01 9999-12 0001-01 -001-01",
  "0000-01-01T00:00:00Z 9999-12-31T23:59:59-14:00 0001-01-01T00:00:00%2B14:00 9999-12-31T23:59:59.999999999Z",
  "2026-06-30T23:59:60Z %2B275760-09-13T00:00:00Z",
  `${"9".repeat(400)} ${"a".repeat(513)} ${"%F0%9F%98%80".repeat(300)} ${"a".repeat(16_000)}`,
].flatMap((line) => line.split(" "));

/** Texts that would end an element, an attribute, a string or a program. */
const MARKUP = [
  "<script>alert(1)</script>",
  `"><img src=x onerror=alert(1)>`,
  `' onmouseover='alert(1)`,
  "</title><h1>x</h1>",
  "</svg><a href=x>x</a>",
  "<svg onload=alert(1)>",
  "<!-- x --!>",
  "]]><![CDATA[",
  "&lt;b&gt; &amp; &#39; &notin",
  "javascript:alert(1)",
  "${7*7}{{7*7}}`x`",
  "</textarea></option></select>",
  "a=b&c=d#e?f /../g",
  "=2+2",
];

/** The names of people are the shortest texts. */
const MOST_CHARACTERS = 100;

/** Those of all these values that a store's text can have: readable, short, and without control characters, which imports remove. */
export const STORE_TEXTS: readonly string[] = [...new Set([...CORPUS.flatMap(decoded), ...MARKUP])]
  .filter((text) => text === text.trim() && text.length > 0 && text.length <= MOST_CHARACTERS)
  .filter((text) => text.isWellFormed() && !/\p{Cc}/u.test(text));

function decoded(text: string): string[] {
  try {
    return [decodeURIComponent(text)];
  } catch {
    return [text];
  }
}
