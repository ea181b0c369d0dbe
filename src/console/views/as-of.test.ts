import assert from "node:assert/strict";
import { test } from "node:test";
import type { MemberAdmission } from "../../admission/admit-member.ts";
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

test("the line speaks of what the page shows, not of the request that resolved its months", () => {
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
