import { billingEndText } from "../../alerts/billing-end.ts";
import { rateFigure } from "../../console/charts/rates.ts";
import { figure } from "../../console/figure.ts";
import { instant, month } from "../../console/format.ts";
import type { OverviewData } from "../../console/pages/overview.ts";
import type { PageCall } from "../../console/page.ts";
import { linkToAll, problemParts } from "../../console/problems.ts";
import { monthRange } from "../../console/months.ts";
import { notCompared, summaryTiles, windowText, type Tile } from "../../console/views/report/summary.ts";
import { html, renderHtml, unescapeHtml, type Html } from "../../lib/html.ts";

type Mail = { subject: string; text: string; html: string };

/** Of a bar in the plain text. */
const BAR_CHARACTERS = 20;
const SHOWN_MONTHS = 12;

/**
 * A workspace's overview as a mail, in HTML and in plain text, from the same parts: its problems, figures and months. Bars are
 * table cells, styles are inline, and no resources are loaded.
 */
export function digestMail(
  shown: OverviewData,
  { name, billingEndsAt }: { name: string; billingEndsAt: Date | null },
  call: PageCall,
  stopAddress: string,
): Mail {
  const at = (path: string): string => `${call.origin}${path}`;
  const { report, problems, alerts } = shown;
  const count = problems.length + shown.others;
  const all = linkToAll(shown, call);
  const parts = {
    title: `Weekly digest of ${name}`,
    asOf: html`${billingEndsAt !== null && `${billingEndText(billingEndsAt)} `}Orders of ${monthRange(report)}, as of ${figure(report, "meta/data_as_of", instant)}. A unit counts
      as returned when it came back within ${windowText(report)}.`,
    cards: problems.map((problem) => {
      const { href, ...card } = problemParts(problem, alerts, call);
      return { ...card, address: at(href) };
    }),
    all: all && { text: all.text, address: at(all.href) },
    tiles: summaryTiles(shown, call),
    compared: notCompared(shown, call),
    months: monthsOf(shown),
    overview: at(call.href("")),
    why: `You get this e-mail because you turned on the weekly digest of ${name}.`,
    stopAddress,
  };
  const found = count === 1 ? "1 problem" : `${count || "no"} problems`;
  return {
    subject: `${parts.title}: ${found}`,
    text: `${textBody(parts)}\n`,
    // Its parts are those of a page, whose links need no host.
    html: page(parts.title, htmlBody(parts)).replaceAll('href="/', `href="${call.origin}/`),
  };
}

const CALM = "No problems: nothing comes back more often than usual.";

type Parts = {
  title: string;
  asOf: Html;
  cards: (Pick<ReturnType<typeof problemParts>, "name" | "detail" | "what" | "course"> & {
    address: string;
  })[];
  /** Where all problems are; null = the cards show all. */
  all: { text: string; address: string } | null;
  tiles: Tile[];
  compared: Html | null;
  months: ReturnType<typeof monthsOf>;
  overview: string;
  why: string;
  stopAddress: string;
};

function htmlBody({
  title,
  asOf,
  cards,
  all,
  tiles,
  compared,
  months,
  overview,
  why,
  stopAddress,
}: Parts): Html {
  return html`<h1 style="margin:0 0 8px;font-size:22px;line-height:28px">${title}</h1>
    <p style="margin:0 0 24px;font-size:14px;line-height:20px;color:#555b66">${asOf}</p>
    <h2 style="margin:0 0 8px;font-size:17px;line-height:24px">Problems</h2>
    ${
      cards.length === 0
        ? html`<p style="margin:0 0 16px;font-size:15px;line-height:22px">${CALM}</p>`
        : cards.map(
            (card) =>
              html`<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="margin:0 0 12px;border:1px solid #d5d9e0;border-left:4px solid #b3261e">
                <tr>
                  <td style="padding:12px 14px;font-size:15px;line-height:22px">
                    <a href="${card.address}" style="color:#1d4f91;font-weight:bold">${card.name}</a>
                    <span style="color:#555b66;font-size:13px">${card.detail}</span><br />
                    ${card.what}<br />
                    <span style="color:#555b66;font-size:14px">${card.course}</span>
                  </td>
                </tr>
              </table>`,
          )
    }
    ${all !== null && html`<p style="margin:0;font-size:15px"><a href="${all.address}" style="color:#1d4f91">${all.text}</a></p>`}
    <h2 style="margin:24px 0 8px;font-size:17px;line-height:24px">Key figures</h2>
    <table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0">
      ${[tiles.slice(0, 2), tiles.slice(2)].map(
        (pair) =>
          html`<tr>
            ${pair.map(
              ({ label, value, change, notes }) =>
                html`<td width="50%" valign="top" style="padding:0 12px 16px 0;font-size:14px;line-height:20px">
                  <span style="color:#555b66">${label}</span><br />
                  <strong style="font-size:22px;line-height:30px;white-space:nowrap">${value}</strong><br />
                  ${change}${change !== null && html`<br />`}
                  <span style="color:#555b66;font-size:13px">${notes.map((note) => html`${note}<br />`)}</span>
                </td>`,
            )}
          </tr>`,
      )}
    </table>
    <div style="font-size:13px;line-height:18px;color:#555b66">${compared}</div>
    <h2 style="margin:24px 0 8px;font-size:17px;line-height:24px">Return rate by month</h2>
    <table width="100%" cellpadding="0" cellspacing="0" border="0" style="font-size:14px;line-height:20px">
      <tr>
        <th align="left" style="padding:2px 8px 2px 0">Month</th>
        <th></th>
        <th width="100" align="right" style="padding:2px 0;white-space:nowrap">Return rate</th>
      </tr>
      ${months.map(
        ({ label, text, share }) =>
          html`<tr>
            <td width="80" style="padding:2px 8px 2px 0;white-space:nowrap">${label}</td>
            <td>
              <table role="presentation" aria-hidden="true" width="100%" cellpadding="0" cellspacing="0" border="0">
                <tr>
                  ${share > 0 && html`<td width="${`${share}%`}" bgcolor="#3f6fb0" style="height:12px;font-size:1px;line-height:12px">&nbsp;</td>`}
                  <td style="font-size:1px;line-height:12px">&nbsp;</td>
                </tr>
              </table>
            </td>
            <td width="100" align="right" style="padding:2px 0;white-space:nowrap">${text}</td>
          </tr>`,
      )}
    </table>
    <p style="margin:24px 0;font-size:15px"><a href="${overview}" style="color:#1d4f91">Open the overview</a></p>
    <p style="margin:0;font-size:13px;line-height:18px;color:#555b66">
      ${why} <a href="${stopAddress}" style="color:#1d4f91">Stop the weekly digest</a>
    </p>`;
}

function textBody({
  title,
  asOf,
  cards,
  all,
  tiles,
  compared,
  months,
  overview,
  why,
  stopAddress,
}: Parts): string {
  return [
    title,
    plain(asOf),
    "PROBLEMS",
    ...(cards.length === 0
      ? [CALM]
      : cards.map(
          (card) =>
            `${card.name} (${card.detail})\n${plain(card.what)}\n${plain(card.course)}\n${card.address}`,
        )),
    ...(all === null ? [] : [`${all.text}: ${all.address}`]),
    "KEY FIGURES",
    tiles
      .map(({ label, value, change, notes }) =>
        [
          `${label}: ${plain(value)}`,
          ...[change, ...notes].flatMap((note) => (note === null ? [] : [`  ${plain(note)}`])),
        ].join("\n"),
      )
      .join("\n"),
    ...(compared === null ? [] : [plain(compared)]),
    "RETURN RATE BY MONTH",
    months
      .map(({ label, text, share }) =>
        `${plain(label)}  ${plain(text).padStart(8)}  ${"#".repeat(Math.round((share / 100) * BAR_CHARACTERS))}`.trimEnd(),
      )
      .join("\n"),
    `Open the overview: ${overview}`,
    `${why}\nStop the weekly digest: ${stopAddress}`,
  ].join("\n\n");
}

/** The newest complete months of the chart with their rates, each as a share of the highest in percent. */
function monthsOf({ trend }: OverviewData) {
  const rows = (trend.body.data.trend ?? []).map(({ return_rate: rate, is_complete: isDone }, index) => ({
    label: figure(trend, `trend/${index}/cohort_month`, month),
    text: rateFigure(trend, `trend/${index}`),
    rate,
    isDone: isDone !== false,
  }));
  const months = rows.filter(({ isDone }) => isDone).slice(-SHOWN_MONTHS);
  const highest = Math.max(...months.map(({ rate }) => rate), 0.000_001);
  return months.map((each) => ({ ...each, share: Math.round((100 * each.rate) / highest) }));
}

/** Mail that asks an address to confirm the digest of a workspace. */
export function askingMail(name: string, address: string): Mail {
  const title = `Confirm the weekly digest of ${name}`;
  const asked = `A member of ${name} asked to send its weekly digest of returns to this address.`;
  const otherwise = "If that was not you, do nothing: no other e-mail is sent.";
  const body = html`<h1 style="margin:0 0 8px;font-size:22px;line-height:28px">${title}</h1>
    <p style="font-size:15px;line-height:22px">${asked}</p>
    <p style="font-size:15px;line-height:22px"><a href="${address}" style="color:#1d4f91">Confirm it</a></p>
    <p style="font-size:14px;line-height:20px;color:#555b66">${otherwise}</p>`;
  return {
    subject: title,
    text: `${asked} Confirm it here:\n\n${address}\n\n${otherwise}\n`,
    html: page(title, body),
  };
}

function page(title: string, body: Html): string {
  const markup = html`<html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light" />
      <title>${title}</title>
    </head>
    <body bgcolor="#ffffff" style="margin:0;padding:24px 16px;background:#ffffff;color:#1b1f27;font-family:Arial,Helvetica,sans-serif">
      <table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="max-width:600px;margin:0 auto">
        <tr>
          <td>${body}</td>
        </tr>
      </table>
    </body>
  </html>`;
  return `<!doctype html>\n${renderHtml(markup)}`;
}

/** The text of markup. */
function plain(markup: Html): string {
  const [first = "", ...parts] = renderHtml(markup).split("<");
  const text = first + parts.map((part) => part.slice(part.indexOf(">") + 1)).join("");
  return unescapeHtml(text).replaceAll(/\s+/gu, " ").trim();
}
