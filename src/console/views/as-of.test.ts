import assert from "node:assert/strict";
import { test } from "node:test";
import type { MemberAdmission } from "../../admission/admit-member.ts";
import { renderHtml } from "../../lib/html.ts";
import { asOf } from "./as-of.ts";

const member = { workspace: { primaryWindowDays: 30 } } as MemberAdmission;

function completeFor(body: object): string | undefined {
  const line = asOf([{ name: "answer", body }], member);
  assert.ok(line);
  return /are complete\s+for (\d+) days/u.exec(renderHtml(line))?.[1];
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
