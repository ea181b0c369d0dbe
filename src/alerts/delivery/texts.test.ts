import assert from "node:assert/strict";
import { test } from "node:test";
import type { FeedAlert } from "../../endpoints/alerts.ts";
import { mailText, slackText } from "./texts.ts";

const ALERT: FeedAlert = {
  id: "a",
  category: "report_ready",
  severity: "warning",
  title: "More returns of <Tom & Co> @channel",
  body: "3 > 1 <!here>",
  link_url: "https://returns.example/w/shop.example/report?sku=A&start_month=2026-05",
  link_label: "Open the report",
  metadata: null,
  created_at: "2026-05-01T06:00:00.000Z",
};
const shopDomain = "shop.example";

test("a message to a chat escapes names from the store, and mentions nobody", () => {
  const text = slackText({ shopDomain, alerts: [ALERT] });
  assert.equal(
    text,
    [
      "1 alert for shop.example",
      "",
      "*warning* More returns of &lt;Tom &amp; Co&gt; @\u200Bchannel",
      "3 &gt; 1 &lt;!here&gt;",
      "<https://returns.example/w/shop.example/report?sku=A&amp;start_month=2026-05|Open the report>",
    ].join("\n"),
  );
  assert.match(slackText({ shopDomain, alerts: [ALERT, ALERT] }), /^2 alerts for shop\.example\n/u);
});

test("an e-mail has one line as its subject, and every alert in its text", () => {
  const one = mailText({ shopDomain, alerts: [{ ...ALERT, title: "Two\r\nBcc: lines" }] });
  assert.equal(one.subject, "[shop.example] warning: Two Bcc: lines");
  const two = mailText({
    shopDomain,
    alerts: [ALERT, { ...ALERT, title: "Second", body: null, link_url: null }],
  });
  assert.equal(two.subject, "2 alerts for shop.example");
  assert.match(
    two.text,
    /warning: More returns of <Tom & Co>[^]*3 > 1[^]*report\?sku=A[^]*warning: Second\n2026-05-01/u,
  );
});
