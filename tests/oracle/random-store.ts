import fc from "fast-check";
import { dayText } from "./calendar.ts";
import {
  catalogueDraft,
  clock,
  DAYS,
  eventDraft,
  labelDraft,
  lineDraft,
  oneOf,
  refundDraft,
  returnDraft,
} from "./drafts.ts";
import {
  eventRow,
  FIRST_DAY,
  labelRow,
  lineAt,
  lineRow,
  productRows,
  refundRow,
  returnRow,
  variantRows,
} from "./rows.ts";
import type { OracleStore } from "./store.ts";

const many = <Draft>(draft: fc.Arbitrary<Draft>, minLength: number): fc.Arbitrary<Draft[]> =>
  fc.array(draft, { minLength, maxLength: 16, size: "max" });

/** A random store, small so that rules interact. */
export const randomStore: fc.Arbitrary<OracleStore> = fc
  .record({
    currency: oneOf("EUR", "EUR", "EUR", "JPY", "KWD"),
    primary: oneOf(30, 30, 45, 7, 1, 365),
    minSold: fc.integer({ min: 1, max: 4 }),
    card: fc.integer({ min: 1, max: 4 }),
    /** Half of them at the beginning or end of a month, or when one becomes complete for 30 days. */
    asOf: fc.oneof(
      fc.integer({ min: 120, max: DAYS + 130 }),
      oneOf(242, 243, 272, 273, 274, 396, 425, 426, 427),
    ),
    asOfClock: clock,
    catalogue: catalogueDraft,
    lines: many(lineDraft, 4),
    returns: many(returnDraft, 0),
    refunds: many(refundDraft, 0),
    labels: fc.option(many(labelDraft, 1), { nil: undefined, freq: 4 }),
    events: fc.array(eventDraft, { maxLength: 3, size: "max" }),
  })
  .map((draft) => {
    const lines = draft.lines.map(lineRow);
    return {
      settings: {
        currency_code: draft.currency,
        primary_window_days: draft.primary,
        min_sold_units: draft.minSold,
        visible_card_size: draft.card,
        full_leaderboards: true,
      },
      as_of: `${dayText(FIRST_DAY + draft.asOf)}${draft.asOfClock}`,
      files: {
        products: productRows(draft.catalogue),
        variants: variantRows(draft.catalogue),
        order_lines: lines,
        returns: draft.returns.map((entry) => returnRow(entry, lineAt(lines, entry.line))),
        refunds: draft.refunds.map((entry) => refundRow(entry, lineAt(lines, entry.line))),
        ...(draft.labels === undefined
          ? {}
          : {
              return_labels: draft.labels.map((entry, index) =>
                labelRow(entry, lineAt(lines, entry.line), index),
              ),
            }),
        sale_events: draft.events.map(eventRow),
      },
    };
  });
