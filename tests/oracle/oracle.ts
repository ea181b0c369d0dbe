import { coveragePart } from "./coverage.ts";
import { costLeaderboard, rateLeaderboard } from "./leaderboards.ts";
import { listEntities } from "./entities.ts";
import { figuresOf, soldValueOf } from "./figures.ts";
import { ledgerOf, type OracleLedger } from "./ledger.ts";
import { rateOf } from "./numbers.ts";
import { periodsOf } from "./periods.ts";
import { report } from "./report.ts";
import { countedMonths, selectionOf, windowDaysOf, type Selected } from "./selection.ts";
import type { OracleAnswer, OracleParameters, OracleStore } from "./store.ts";

export type Oracle = (path: string, params: OracleParameters) => OracleAnswer;

/** A request: the store, its ledger, and what the request selects. */
export type Question = {
  store: OracleStore;
  ledger: OracleLedger;
  selected: NonNullable<Selected>;
  params: OracleParameters;
};

/**
 * A second implementation of METRICS.md that shares no code with the service: it loops over the rows as given, unit by unit,
 * and is slow. `data` is the response's without texts that no rule covers; `meta` is what must appear in its meta.
 */
export function createOracle(store: OracleStore): Oracle {
  const ledger = ledgerOf(store);
  return (path, params) => {
    const answerOf = ANSWERS[path];
    if (answerOf === undefined) throw new Error(`the oracle does not know ${path}`);
    const vendorSelects = !path.includes("leaderboards") && !path.endsWith("/entities");
    const selected = selectionOf(ledger, vendorSelects ? params : without(params, "vendor"), vendorSelects);
    if (selected === null) return { status: 400 };
    const { data, meta } = answerOf({ store, ledger, selected, params });
    return {
      status: 200,
      data,
      meta: {
        ...meta,
        ...(path.endsWith("/entities") ? {} : { selector: selected.meta, vendor: params["vendor"] ?? null }),
      },
    };
  };
}

function without(params: OracleParameters, name: string): OracleParameters {
  return Object.fromEntries(Object.entries(params).filter(([other]) => other !== name));
}

type Answered = { data: unknown; meta?: Record<string, unknown> };

const ANSWERS: Readonly<Record<string, (question: Question) => Answered>> = {
  "/api/v1/entities": listEntities,
  "/api/v1/summary": summary,
  "/api/v1/timeseries": timeseries,
  "/api/v1/report": report,
  "/api/v1/leaderboards/return-rate": rateLeaderboard,
  "/api/v1/leaderboards/return-cost": costLeaderboard,
};

function summary({ store, ledger, selected, params }: Question): Answered {
  const months = requestedMonths(store, params);
  const lines = ledger.lines.filter((line) => selected.holds(line) && months.includes(line.month));
  const figures = figuresOf(lines, windowDaysOf(store, params));
  const { sold, returned } = figures;
  return {
    data: {
      sold_units: sold,
      returned_units: returned,
      return_rate: rateOf(returned, sold),
      currency_code: store.settings.currency_code,
      ...soldValueOf(figures, store.settings.currency_code),
      ...coveragePart(store, params),
    },
  };
}

function timeseries(question: Question): Answered {
  const { store, ledger, selected, params } = question;
  const windowDays = windowDaysOf(store, params);
  const rows = periodsOf(question).map(({ days, named, isComplete }) => {
    const lines = ledger.lines.filter((line) => selected.holds(line) && days.has(line.orderedDay));
    const { sold, returned } = figuresOf(lines, windowDays);
    return {
      ...named,
      sold_units: sold,
      returned_units: returned,
      return_rate: rateOf(returned, sold),
      ...(windowDays === null ? {} : { is_complete: isComplete }),
    };
  });
  return { data: { rows }, meta: { returned: rows.length, ...coveragePart(store, params) } };
}

function requestedMonths(store: OracleStore, params: OracleParameters): string[] {
  return countedMonths(store, params, String(params["start_month"]), String(params["end_month"]));
}
