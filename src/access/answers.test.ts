import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Answer } from "../contract/endpoint.ts";
import { exportReport } from "../contract/export-report.ts";
import { summary } from "../contract/summary.ts";
import type { SourceState, Workspace } from "../store/workspace.ts";
import { createAnswers } from "./answers.ts";
import type { AnswerRequest, Answers, MadeAnswer, ReadyAnswer } from "./answers.ts";

const NOW = new Date("2026-07-01T00:00:00Z");

/** A workspace as admission gives it: a new object each time. */
function workspaceOf(change: Partial<Workspace> = {}): Workspace {
  return {
    shopKey: 1,
    organizationId: "org",
    shopId: "shop",
    shopDomain: "shop.example",
    currencyCode: "EUR",
    entitlements: ["api_access"],
    primaryWindowDays: 30,
    minSoldUnits: 20,
    visibleCardSize: 10,
    dataVersion: 1,
    dataAsOf: new Date("2024-10-04T00:00:00Z"),
    asOfDay: 20_000,
    sources: [
      {
        source: "csv",
        kind: "store",
        status: "ok",
        currencyCode: null,
        lastSyncedAt: new Date("2026-06-30T00:00:00Z"),
      },
    ],
    ...change,
  } as Workspace;
}

function jsonAnswer(data: unknown): Answer {
  return { kind: "json", body: { data, meta: { vendor: undefined, selector: { type: "workspace" } } } };
}

function openAnswers(memoryBytes = 1_000_000): Answers {
  return createAnswers({
    memoryBytes,
    baseMeta: ({ dataVersion, sources }, now) => ({
      api_version: "1",
      freshness: { version: dataVersion, synced: sources[0]?.lastSyncedAt, at: now.getTime() },
    }),
  });
}

let makings = 0;

/** Asks for an answer that counts how often it was made. */
function request(change: Partial<AnswerRequest> = {}): AnswerRequest {
  return {
    endpoint: summary,
    workspace: workspaceOf(),
    input: { start_month: "2026-01" },
    now: NOW,
    make: madeOf(change.workspace ?? workspaceOf(), () => jsonAnswer({ making: (makings += 1) })),
    ...change,
  };
}

/** A making in a snapshot that sees `workspace`. */
function madeOf(workspace: Workspace, answer: () => Answer): () => Promise<MadeAnswer> {
  return () => Promise.resolve({ workspace, answer: answer() });
}

async function textOf(answers: Answers, asked: AnswerRequest): Promise<string> {
  const ready = await answers(asked);
  return ready.kind === "json" ? ready.text : assert.fail();
}

async function makingOf(answers: Answers, asked: AnswerRequest): Promise<number> {
  return (JSON.parse(await textOf(answers, asked)) as { data: { making: number } }).data.making;
}

describe("answers", () => {
  test("are made once for the same shop, version, settings, endpoint and input", async () => {
    const answers = openAnswers();
    const first = await makingOf(answers, request());
    assert.equal(await makingOf(answers, request()), first);
    const others: Partial<AnswerRequest>[] = [
      { workspace: workspaceOf({ shopKey: 2 }) },
      { workspace: workspaceOf({ shopKey: 11 }) },
      { workspace: workspaceOf({ currencyCode: "USD" }) },
      { workspace: workspaceOf({ asOfDay: 20_001 }) },
      { workspace: workspaceOf({ entitlements: [] }) },
      { workspace: workspaceOf({ sources: [] }) },
      { input: { start_month: "2026-02" } },
      { input: {} },
    ];
    const seen = new Set([first]);
    for (const other of others) seen.add(await makingOf(answers, request(other)));
    assert.equal(seen.size, others.length + 1);
    assert.equal(await makingOf(answers, request()), first);
  });

  test("after a later sync only their freshness is recomputed", async () => {
    const answers = openAnswers();
    const first = await makingOf(answers, request());
    const [source] = workspaceOf().sources;
    const synced = workspaceOf({
      dataAsOf: new Date("2024-10-04T12:00:00Z"),
      sources: [{ ...source, lastSyncedAt: NOW } as SourceState],
    });
    const later = new Date(NOW.getTime() + 5);
    assert.equal(await makingOf(answers, request({ workspace: synced, now: later })), first);
    const freshness = { version: 1, synced: NOW, at: later.getTime() };
    assert.equal(
      await textOf(answers, request({ workspace: synced, now: later })),
      JSON.stringify({
        data: { making: first },
        meta: { api_version: "1", freshness, selector: { type: "workspace" } },
      }),
    );
  });

  test("requested concurrently are computed once; without a cache, once for each", async () => {
    for (const [memoryBytes, expected] of [
      [1_000_000, 1],
      [0, 20],
    ] as const) {
      const answers = openAnswers(memoryBytes);
      const before = makings;
      await Promise.all(Array.from({ length: 20 }, () => answers(request())));
      assert.equal(makings - before, expected);
    }
  });

  test("made in a newer snapshot are remembered under its version, and tell its freshness", async () => {
    const answers = openAnswers();
    const changed = workspaceOf({ dataVersion: 2 });
    const inNewer = (): AnswerRequest =>
      request({ make: madeOf(changed, () => jsonAnswer({ making: (makings += 1) })) });
    const before = makings;
    const texts = await Promise.all([textOf(answers, inNewer()), textOf(answers, inNewer())]);
    assert.equal(makings, before + 1);
    assert.match(texts[0] ?? "", /"version":2/u);
    assert.equal(texts[1], texts[0]);
    assert.equal(await textOf(answers, request({ workspace: changed })), texts[0]);
    assert.equal(
      await makingOf(answers, request()),
      before + 2,
      "nothing is remembered under the old version",
    );
  });

  test("cached before a sync without changes are sent with each request's freshness", async () => {
    const answers = openAnswers();
    const [source] = workspaceOf().sources;
    const synced = workspaceOf({ sources: [{ ...source, lastSyncedAt: NOW } as SourceState] });
    const texts = await Promise.all([
      textOf(answers, request()),
      textOf(answers, request({ workspace: synced })),
    ]);
    assert.match(texts[0], /"synced":"2026-06-30/u);
    assert.match(texts[1], /"synced":"2026-07-01/u);
  });

  test("that fail are not remembered", async () => {
    const answers = openAnswers();
    const failing = request({ make: () => Promise.reject(new Error("the database is away")) });
    await assert.rejects(answers(failing), /away/u);
    assert.equal(await makingOf(answers, request()), makings);
  });

  describe("in CSV", () => {
    const pieces = ["section,value\r\n", "summary,1\r\n"];
    const file = { kind: "file", filename: "report.csv", type: "text/csv" } as const;
    async function* inPieces(chunks: readonly string[]): AsyncGenerator<string> {
      yield* chunks;
    }
    const csvAnswer = (chunks = pieces): Answer => {
      makings += 1;
      return { ...file, content: inPieces(chunks) };
    };
    const asked = (chunks = pieces): AnswerRequest =>
      request({ endpoint: exportReport, make: madeOf(workspaceOf(), () => csvAnswer(chunks)) });
    const piecesOf = async (ready: ReadyAnswer): Promise<unknown[]> => {
      if (ready.kind !== "file") throw new Error("no file");
      const { content, ...rest } = ready;
      assert.deepEqual(rest, file);
      return typeof content === "string" ? [content] : Array.fromAsync<unknown>(content);
    };

    test("come in pieces as they are made, and whole from then on", async () => {
      const answers = openAnswers();
      const before = makings;
      const first = await answers(asked());
      await answers(asked());
      assert.deepEqual(await piecesOf(first), pieces);
      assert.equal(makings, before + 2, "a file that nobody has read is not remembered");
      assert.deepEqual(await piecesOf(await answers(asked())), [pieces.join("")]);
      assert.equal(makings, before + 2);
    });

    test("are not cached if they are too long, fail, or are not read to the end", async () => {
      const answers = openAnswers(1000);
      const long = ["x".repeat(50), "y".repeat(100)];
      for (let time = 0; time < 2; time += 1)
        assert.deepEqual(await piecesOf(await answers(asked(long))), long);
      const broken = request({
        endpoint: exportReport,
        make: madeOf(workspaceOf(), () => ({
          ...file,
          content: (async function* () {
            yield "a";
            throw new Error("the database is away");
          })(),
        })),
      });
      await assert.rejects(async () => piecesOf(await answers(broken)), /away/u);
      const left = await openAnswers()(asked());
      if (left.kind !== "file" || typeof left.content === "string") throw new Error("no pieces");
      for await (const piece of left.content) {
        assert.equal(piece, pieces[0]);
        break;
      }
      const before = makings;
      assert.deepEqual(await piecesOf(await answers(asked())), pieces);
      assert.equal(makings, before + 1);
    });

    test("made in a newer snapshot are remembered under its version", async () => {
      const answers = openAnswers();
      const changed = workspaceOf({ dataVersion: 2 });
      const inNewer = { ...asked(), make: madeOf(changed, csvAnswer) };
      const before = makings;
      assert.deepEqual(await piecesOf(await answers(inNewer)), pieces);
      assert.deepEqual(await piecesOf(await answers({ ...asked(), workspace: changed })), [pieces.join("")]);
      assert.equal(makings, before + 1);
      assert.deepEqual(await piecesOf(await answers(asked())), pieces);
    });
  });
});
