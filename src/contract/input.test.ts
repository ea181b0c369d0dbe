import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import Type from "typebox";
import type { TSchema } from "typebox";
import { ApiError, MCP_WORDS } from "./errors.ts";
import { compileInput } from "./input.ts";
import {
  breakdownParameter,
  intervalParameter,
  monthParameters,
  reportStateParameters,
  selectorParameters,
} from "./parameters.ts";

/** Reads one parameter `p` of a schema; undefined when it is left out. */
function read(schema: TSchema, value: unknown): unknown {
  const reader = compileInput(Type.Object({ p: Type.Optional(schema) }));
  return reader(new Map([["p", value]]))["p"];
}

/** The message of the refusal. */
function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof ApiError && error.code === "invalid_request", String(error));
    return error.message;
  }
  assert.fail("nothing was refused");
}

function expectRefused(schema: TSchema, values: readonly unknown[], message: string): void {
  for (const value of values)
    assert.equal(
      refusal(() => read(schema, value)),
      message,
      String(value),
    );
}

describe("integers", () => {
  const schema = Type.Integer({ minimum: 1, maximum: 100 });
  test("are read from plain decimal text and from JSON numbers", () => {
    assert.deepEqual(
      ["1", "100", "007", 1, 100].map((value) => read(schema, value)),
      [1, 100, 7, 1, 100],
    );
  });

  test("are refused out of range, with a fraction, in other notations and of other types", () => {
    const broken = ["0", "101", "-1", "1.0", "0x1", " 1", "1 ", "1_0", "١", "NaN", "Infinity"];
    const values = [0, 101, 1.5, NaN, Infinity, true, [], {}, ["1"], 1n];
    expectRefused(schema, [...broken, ...values], "p must be a whole number from 1 to 100.");
    const otherNotations = ["1e1", "1E+1", "+1", "5."];
    expectRefused(schema, otherNotations, "p must be a whole number from 1 to 100, in plain decimal digits.");
  });

  test("are refused unread when the text is longer than any value", () => {
    const plain = "p must be a whole number from 1 to 100.";
    expectRefused(schema, [`+${"1".repeat(4095)}`], `${plain.slice(0, -1)}, in plain decimal digits.`);
    expectRefused(schema, [`+${"1".repeat(4096)}`], plain);
    const listed = Type.String({ pattern: "^\\d+$" });
    assert.equal(read(listed, "1".repeat(4096)), "1".repeat(4096));
    expectRefused(listed, ["1".repeat(4097)], "p must be text.");
  });

  test("are refused beyond 2^53, where they could not be distinguished", () => {
    const open = Type.Integer({ minimum: 0 });
    assert.equal(read(open, "9007199254740991"), Number.MAX_SAFE_INTEGER);
    expectRefused(
      open,
      ["9007199254740993", "9".repeat(40), 2 ** 53],
      "p must be a whole number of at least 0.",
    );
  });

  test("every whole number of the range is read as itself, in both forms", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), (value) => {
        assert.equal(read(schema, value), value);
        assert.equal(read(schema, String(value)), value);
      }),
    );
  });
});

describe("numbers", () => {
  const schema = Type.Number({ minimum: 0, maximum: 1 });
  test("are read with decimals, and −0 is 0", () => {
    assert.deepEqual(
      ["0", "1", "0.25", "1.000", 0.5].map((value) => read(schema, value)),
      [0, 1, 0.25, 1, 0.5],
    );
    assert.ok(Object.is(read(schema, "-0"), 0));
    assert.ok(Object.is(read(schema, -0), 0));
  });

  test("are refused out of range and in other notations", () => {
    expectRefused(schema, ["1.1", "-0.1", "1,0", "1e", ".", 1.1], "p must be a number from 0 to 1.");
    expectRefused(
      schema,
      [".5", "-.5", "5.", "1e-1", "1E0", "1e308", "+1"],
      "p must be a number from 0 to 1, in plain decimal digits.",
    );
  });
});

describe("booleans", () => {
  const schema = Type.Boolean({ default: false });
  test("are true, false, 1 and 0, as text and as JSON", () => {
    const given = ["true", "1", true, 1, "false", "0", false, 0];
    assert.deepEqual(
      given.map((value) => read(schema, value)),
      [true, true, true, true, false, false, false, false],
    );
  });

  test("are nothing else", () =>
    expectRefused(schema, ["True", "TRUE", "yes", "on", "2", 2, [], {}], "p must be true or false."));
});

test("values of a list are taken exactly as they are written", () => {
  const schema = Type.Enum(["month", "year"]);
  assert.equal(read(schema, "year"), "year");
  expectRefused(schema, ["Year", "year ", "week", 1, ["year"]], "p must be one of month, year.");
});

describe("date-times", () => {
  const schema = Type.String({ format: "date-time" });
  test("are read in any offset and given back in UTC", () => {
    const given = [
      ["2026-01-31T23:00:00Z", "2026-01-31T23:00:00.000Z"],
      ["2026-01-31t23:00:00z", "2026-01-31T23:00:00.000Z"],
      ["2026-01-31T23:00Z", "2026-01-31T23:00:00.000Z"],
      ["2026-01-31T23:00:00.123456Z", "2026-01-31T23:00:00.123Z"],
      ["2026-02-01T01:00:00+02:00", "2026-01-31T23:00:00.000Z"],
      ["2026-02-01T01:00:00 02:00", "2026-01-31T23:00:00.000Z"],
      ["2026-01-31T18:30:00-04:30", "2026-01-31T23:00:00.000Z"],
      ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"],
    ];
    for (const [value, expected] of given) assert.equal(read(schema, value), expected);
  });

  test("are refused without an offset, on days that are none, and outside the years 1 to 9999", () => {
    const broken = ["2026-01-31", "2026-01-31T23:00:00", "2026-02-29T00:00:00Z", "2026-01-32T00:00:00Z"];
    const years = ["0000-06-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:00:00-14:00"];
    expectRefused(
      schema,
      [...broken, ...years, "2026-01-31T24:01:00Z", "now", 1_767_225_600, "+275760-09-13T00:00:00Z"],
      "p must be a date-time with an offset or Z, such as 2026-01-31T00:00:00Z.",
    );
  });
});

describe("texts", () => {
  const schema = Type.String({ minLength: 1, maxLength: 5, "x-allowed": "a short text" });
  test("are taken as they are, blanks and all", () => {
    for (const value of ["a", " a ", "é", "e\u0301", "\u{1F600}", "\u202E", "12345"]) {
      assert.equal(read(schema, value), value);
    }
  });

  test("are refused with control characters, halves of a pair, too long or of another type", () => {
    const broken = [
      "\0",
      "a\nb",
      "\u007f",
      "\u0085",
      "\uD800",
      "\uDC00a",
      "123456",
      123456,
      1.5,
      1e300,
      true,
      ["a"],
      {},
    ];
    expectRefused(schema, broken, "p must be a short text.");
  });

  test("may come as whole numbers: agents send numeric SKUs so", () =>
    assert.equal(read(schema, 12345), "12345"));
});

test("an empty value, null and undefined count as not given: the default, or nothing", () => {
  for (const absent of ["", null, undefined]) {
    assert.equal(read(Type.Integer({ default: 20 }), absent), 20);
    assert.equal(read(Type.String(), absent), undefined);
  }
  const reader = compileInput(Type.Object({ p: Type.Optional(Type.String()) }));
  assert.deepEqual(reader(new Map()), {});
});

test("names that were found unknown are reported first, and a name that could not be read is not read", () => {
  const reader = compileInput(
    Type.Object({ p: Type.Integer({ minimum: 1 }), r: Type.Optional(Type.Boolean()) }),
  );
  const values = new Map<string, unknown>([
    ["p", "0"],
    ["r", "yes"],
  ]);
  const refusals = new Map([["p", "p must be given once only."]]);
  assert.equal(
    refusal(() => reader(values, refusals, ["a is not a parameter."])),
    "a is not a parameter. p must be given once only. r must be true or false.",
  );
});

test("a text whose folded form is longer than a search takes is refused", () => {
  const schema = Type.String({ maxLength: 200, "x-folded-length": 200, "x-allowed": "a text" });
  assert.equal(read(schema, "\ufdfa".repeat(11)), "\ufdfa".repeat(11));
  expectRefused(schema, ["\ufdfa".repeat(12), "\ufdfa".repeat(200)], "p must be a text.");
});

test("a tool takes the listed values alone where REST takes any text", () => {
  const schema = Type.Object({ p: Type.Optional(Type.String({ "x-tool-enum": ["a", "b"] })) });
  const values = new Map([["p", "c"]]);
  assert.deepEqual(compileInput(schema)(values), { p: "c" });
  assert.equal(
    refusal(() => compileInput(schema, MCP_WORDS)(values)),
    "p must be one of a, b.",
  );
});

test("members outside the schema are left out, whatever their name", () => {
  const reader = compileInput(Type.Object({ p: Type.Optional(Type.String()) }));
  const raw = new Map<string, unknown>([
    ["p", "a"],
    ["__proto__", "b"],
    ["constructor", {}],
  ]);
  assert.deepEqual(Object.entries(reader(raw)), [["p", "a"]]);
});

test("a normalized parameter falls back to its default, a slug to that of no event, instead of being refused", () => {
  const reader = compileInput(Type.Object(reportStateParameters));
  const raw = new Map<string, unknown>([
    ["saleEvent", "\0"],
    ["saleEventBaseline", "nonsense"],
    ["saleEventScope", ["event_scope"]],
  ]);
  assert.deepEqual(reader(raw), {
    saleEvent: "",
    saleEventBaseline: "matched_prior",
    saleEventScope: "current_selection",
    normalized: ["saleEvent", "saleEventBaseline", "saleEventScope"],
  });
});

test("a tool refuses a value that a normalized parameter does not list, and names the nearest", () => {
  const given = (value: unknown) =>
    compileInput(Type.Object(breakdownParameter), MCP_WORDS)(new Map([["breakdownBy", value]]));
  assert.equal(given("vendor")["breakdownBy"], "vendor");
  assert.match(
    refusal(() => given("vendors")),
    /^breakdownBy must be one of vendor, [^;]*; did you mean vendor\?$/u,
  );
  assert.match(
    refusal(() => given("qqq")),
    /^breakdownBy must be one of [^;]*\.$/u,
  );
  assert.match(
    refusal(() => given(["vendor"])),
    /^breakdownBy must be one of /u,
  );
});

describe("months", () => {
  const reader = compileInput(Type.Object(monthParameters));
  const range = (start: unknown, end: unknown) => () =>
    reader(
      new Map([
        ["start_month", start],
        ["end_month", end],
      ]),
    );

  test("are required, both of them", () => {
    assert.match(refusal(range("", "2026-01")), /^start_month is required/u);
    assert.match(refusal(range("2026-01", undefined)), /^end_month is required/u);
  });

  test("run from the first to the last, at most 120 of them", () => {
    assert.deepEqual(range("2026-01", "2026-01")(), { start_month: "2026-01", end_month: "2026-01" });
    range("2016-02", "2026-01")();
    range("9990-01", "9999-12")();
    assert.match(refusal(range("2016-01", "2026-01")), /at most 120 months; these are 121\.$/u);
    assert.match(refusal(range("2026-02", "2026-01")), /^start_month must not be later than end_month\.$/u);
  });

  test("are at most 60 with rows of weeks and 12 with rows of days, and the refusal says so", () => {
    const byInterval = compileInput(Type.Object({ ...monthParameters, ...intervalParameter }));
    const asked = (start: string, interval: string) => () =>
      byInterval(new Map(Object.entries({ start_month: start, end_month: "2025-12", interval })));
    asked("2021-01", "week")();
    asked("2025-01", "day")();
    const tooMany = "start_month to end_month must be at most";
    assert.equal(refusal(asked("2020-12", "week")), `${tooMany} 60 months with interval=week; these are 61.`);
    assert.equal(refusal(asked("2024-12", "day")), `${tooMany} 12 months with interval=day; these are 13.`);
    assert.equal(refusal(asked("2015-12", "month")), `${tooMany} 120 months; these are 121.`);
    assert.equal(refusal(asked("2025-12", "year")), "interval must be one of month, week, day.");
  });

  test("are months 01 to 12 of the years 0001 to 9999", () => {
    for (const broken of ["2026-00", "2026-13", "0000-01", "10000-01", "2026-1", "2026-01-01", 202601]) {
      assert.match(refusal(range(broken, "2026-01")), /^start_month must be a month written YYYY-MM/u);
    }
  });
});

test("a selector is checked as the input is read", () => {
  const reader = compileInput(Type.Object(selectorParameters));
  const raw = new Map<string, unknown>([
    ["sku", "A"],
    ["product_gid", "B"],
  ]);
  assert.match(
    refusal(() => reader(raw)),
    /one selector only/u,
  );
});
