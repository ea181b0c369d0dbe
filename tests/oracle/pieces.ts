import { mulberry32 } from "../../src/demo/random.ts";
import type { StoreFiles } from "./store.ts";

const PIECES = 3;

type FileName = keyof StoreFiles;
type Row = Record<string, string | number | boolean | undefined>;

/** Key columns: of rows with the same key, the last one in a file or folder counts. */
const KEYS: Readonly<Record<FileName, string[]>> = {
  products: ["product_id"],
  variants: ["variant_id"],
  order_lines: ["order_id", "line_id"],
  returns: ["return_id", "order_id", "line_id"],
  refunds: ["refund_id", "order_id", "line_id"],
  return_labels: ["label_id"],
  sale_events: ["slug"],
};

/** Files that may contain deleted rows. */
const DELETABLE: readonly FileName[] = ["order_lines", "returns", "refunds", "return_labels", "sale_events"];

/** Rows before they were edited: other values, and cells that are filled only before or only after. */
const BEFORE: Readonly<Record<FileName, Row[]>> = {
  products: [
    { family: "Old family", analytics_category: undefined, vendor: "Old vendor" },
    { title: "Old" },
    { vendor: undefined },
  ],
  variants: [
    { unit_cost: "1.23", condition: "new", counterpart_sku: undefined },
    { sku: "OLD" },
    { product_id: "p3" },
    { condition: "used", counterpart_sku: "S3" },
    { counterpart_sku: "S2" },
    { option1_name: "size", option1_value: "M", option2_name: "Old", option2_value: "red" },
  ],
  order_lines: [
    { ordered_at: "2025-06-30T12:00:00Z", removed_units: undefined },
    { sku: "S2", test: undefined, gift_card: undefined, canceled_at: undefined },
    { canceled_at: "2025-06-30T12:00:00Z", variant_id: "v1", title: "Old" },
    { product_id: "p3", variant_id: undefined },
    { vendor: "Old vendor" },
    { product_id: undefined, vendor: "Old vendor" },
    { ordered_at: "2025-03-31T23:59:59Z", vendor: undefined },
  ],
  returns: [
    { status: "OPEN", closed_at: undefined, reason: "draft" },
    { processed_units: 1, units: 3 },
  ],
  refunds: [
    { subtotal: "0.01", return_id: undefined },
    { restock_type: "CANCEL", units: 1 },
    { refunded_at: "2025-07-01T12:00:00Z" },
  ],
  return_labels: [
    { amount: "9.99", voided_at: undefined },
    { order_id: undefined },
    { return_id: undefined },
    { charged_at: "2025-07-01T12:00:00Z", currency: "USD" },
    { order_id: "o1", return_id: undefined },
  ],
  sale_events: [{ ends_on: "2027-01-01", skus: undefined }],
};

/** Rows that no rule covers, but whose effects must not depend on their order: colliding SKUs and products. */
export function withAnomalies(files: StoreFiles): StoreFiles {
  const [first] = files.order_lines;
  const ordered_at = first?.ordered_at ?? "2025-01-01T00:00:00Z";
  const lines = [
    { sku: "S3" },
    { sku: "S1", product_id: "p3", title: "Another S1" },
    { variant_id: "v1", sku: "S2" },
    { product_id: "ghost", title: "First name", vendor: "First vendor" },
    { product_id: "ghost", sku: "GHOST", title: "Last name", vendor: "Last vendor" },
    { variant_id: "v8", title: "Only here" },
  ];
  return {
    ...files,
    variants: [
      ...(files.variants ?? []),
      { variant_id: "v7", product_id: "p3", sku: "S3", condition: "used", unit_cost: "7.77" },
      { variant_id: "v8", product_id: "p4", sku: "S8", counterpart_sku: "S1", condition: "used" },
    ],
    order_lines: [
      ...files.order_lines,
      ...lines.map((line, index) => ({
        order_id: `odd-${index % 4}`,
        line_id: `odd-${index}`,
        ordered_at,
        units: 2,
        ...line,
      })),
    ],
  };
}

/**
 * The same store as several folders to import one after the other: rows in any order, some repeated, some first in an
 * earlier version, some deleted in between, and others deleted in the end. Returns and refunds never come before their lines.
 */
export function piecesOf(files: StoreFiles, seed: number): StoreFiles[] {
  const random = mulberry32(seed);
  const pieces = Array.from({ length: PIECES }, (): StoreFiles => ({ order_lines: [] }));
  const pieceOfLine = new Map<string, number>();
  for (const name of Object.keys(KEYS) as FileName[]) {
    for (const row of shuffled(latestRows(files, name), random)) {
      const line = lineKey(row);
      const needsLine = name === "returns" || name === "refunds";
      const first = needsLine ? (pieceOfLine.get(line) ?? 0) : 0;
      const piece = first + Math.floor(random() * (PIECES - first));
      if (name === "order_lines") pieceOfLine.set(line, piece);
      const earlier = first + Math.floor(random() * (piece - first));
      if (earlier < piece && random() < 0.7) {
        const before = BEFORE[name][Math.floor(random() * BEFORE[name].length)];
        put(pieces[earlier], name, { ...row, ...before });
        if (DELETABLE.includes(name) && random() < 0.3) put(pieces[piece - 1], name, deletionOf(name, row));
      }
      put(pieces[piece], name, row);
      if (random() < 0.2) put(pieces[piece], name, row);
      if (random() < 0.2) put(pieces[PIECES - 1], name, row);
    }
  }
  putDeleted(pieces, files, random);
  return pieces;
}

/**
 * Puts rows like those of the store, with new ids, into one folder and their deletion into a later one: lines, whose
 * deletion also deletes their returns and refunds, and other rows.
 */
function putDeleted(pieces: StoreFiles[], files: StoreFiles, random: () => number): void {
  const lines = Map.groupBy(latestRows(files, "order_lines"), lineKey);
  for (const name of DELETABLE) {
    for (const row of latestRows(files, name)) {
      if (random() < 0.6) continue;
      const id = KEYS[name].find((key) => key !== "order_id") ?? "";
      const gone = { ...row, [id]: `gone-${row[id]}` };
      const start = Math.floor(random() * (PIECES - 1));
      const end = start + 1 + Math.floor(random() * (PIECES - 1 - start));
      const needsLine = name === "returns" || name === "refunds";
      if (needsLine) put(pieces[start], "order_lines", lines.get(lineKey(row))?.[0] ?? {});
      put(pieces[start], name, gone);
      put(pieces[end], name, deletionOf(name, gone));
      if (name === "order_lines" && random() < 0.5) putOnDeletedLine(pieces[start], gone);
    }
  }
}

/** A return and a refund that are only deleted with their line. */
function putOnDeletedLine(files: StoreFiles | undefined, line: Row): void {
  const { order_id, line_id } = line;
  const at = "2025-07-01T12:00:00Z";
  const closed = { status: "CLOSED", closed_at: at, reason: "gone" };
  put(files, "returns", { return_id: `of-${line_id}`, order_id, line_id, units: 1, ...closed });
  const money = { refunded_at: at, units: 0, subtotal: "1.00" };
  put(files, "refunds", { refund_id: `of-${line_id}`, order_id, line_id, ...money });
}

function lineKey({ order_id, line_id }: Row): string {
  return JSON.stringify([order_id, line_id]);
}

function deletionOf(name: FileName, row: Row): Row {
  return { ...Object.fromEntries(KEYS[name].map((key) => [key, row[key]])), deleted: "true" };
}

/** The same rows in another order; of rows with the same key only the one that counts is kept. */
export function reordered(files: StoreFiles, seed: number): StoreFiles {
  const random = mulberry32(seed);
  const result: StoreFiles = { order_lines: [] };
  for (const name of Object.keys(files) as FileName[]) {
    for (const row of shuffled(latestRows(files, name), random)) put(result, name, row);
  }
  return result;
}

function latestRows(files: StoreFiles, name: FileName): Row[] {
  const rows = (files[name] ?? []) as Row[];
  return [...new Map(rows.map((row) => [JSON.stringify(KEYS[name].map((key) => row[key])), row])).values()];
}

function put(files: StoreFiles | undefined, name: FileName, row: Row): void {
  if (files === undefined) throw new Error("no such piece");
  const rows = (files[name] ?? []) as Row[];
  rows.push(row);
  files[name] = rows as never;
}

export function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  return items
    .map((item) => ({ item, at: random() }))
    .toSorted((left, right) => left.at - right.at)
    .map(({ item }) => item);
}
