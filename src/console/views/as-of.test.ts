import assert from "node:assert/strict";
import { test } from "node:test";
import type { MemberAdmission } from "../../access/admit-member.ts";
import { renderHtml } from "../../lib/html.ts";
import { asOf } from "./as-of.ts";

const member = { workspace: { primaryWindowDays: 30 } } as MemberAdmission;

function completeFor(body: object): string | undefined {
  const line = asOf([{ name: "answer", body }], member);
  assert.ok(line);
  return /each order has had (\d+) days/u.exec(renderHtml(line))?.[1];
}

test("the as-of line names the days of the answer's own window", () => {
  const meta = { complete_through: "2026-08" };
  assert.equal(completeFor({ data: {}, meta: { ...meta, window: "primary" } }), "30");
  assert.equal(completeFor({ data: {}, meta: { ...meta, window: "90d" } }), "90");
  assert.equal(completeFor({ data: { rows: [] }, meta }), "30");
  assert.equal(
    completeFor({ data: { window_days: 45, summary: { complete_through: "2026-07" } }, meta: {} }),
    "45",
  );
  assert.equal(completeFor({ data: {}, meta: { complete_through: null, window: "lifetime" } }), undefined);
});

test("the line says how new the figures are, and of entities alone when anything was last updated", () => {
  const freshness = { data_updated_at: "2026-11-22T14:00:00.000Z", sources: [] };
  const listed = { name: "list", body: { data: [], meta: { freshness } } };
  const figures = (asOfTime: string | null) => ({
    name: "report",
    body: { data: {}, meta: { freshness, data_as_of: asOfTime } },
  });
  const line = (...answers: { name: string; body: object }[]): string => {
    const markup = asOf(answers, member);
    assert.ok(markup);
    return renderHtml(markup)
      .replaceAll(/<[^>]+>|\s+/gu, " ")
      .replaceAll(/ +/gu, " ")
      .trim();
  };
  assert.match(line(listed, figures("2026-11-20T05:00:00.000Z")), /^Orders as of 20 Nov 2026/u);
  assert.match(line(figures(null)), /^Orders as of – no data yet/u);
  assert.match(line(listed), /^Updated 22 Nov 2026/u);
});

test("the line describes the page's content, not the request that resolved its months", () => {
  const newest = {
    name: "newest_year",
    body: { data: {}, meta: { complete_through: "2026-09", window: "primary" } },
  };
  const shown = (window: string, through: string | null) => ({
    name: "report",
    body: { data: { summary: { complete_through: through } }, meta: { window } },
  });
  const line = (answer: ReturnType<typeof shown>): string => {
    const markup = asOf([newest, answer], member);
    assert.ok(markup);
    return renderHtml(markup);
  };
  assert.match(line(shown("90d", "2026-07")), /Jul 2026.*each order has had 90 days/su);
  assert.doesNotMatch(line(shown("lifetime", null)), /complete/u);
});
