// @ts-check
// Without this script, the page says how the command imports a folder.

/** @typedef {{ part_bytes: number, columns: Record<string, [string[], string[]]> }} UploadRules */
/** @typedef {{ name: string, bytes: number, parts: (string | null)[] }} SentFile */

const MOST_TRIES = 9;
const LONGEST_PAUSE_MS = 30_000;
/** Of many parts no more are sent within a minute than leave room for the pages of the same person. */
const MANY_PARTS = 200;
const PAUSE_OF_MANY_MS = 250;
const HEADER_BYTES = 65_536;
const CSV_NAME = /\.csv(\.gz)?$/u;
const FILE_NAME = /\.(csv(\.gz)?|parquet)$/u;
/** Columns that only the order export of Shopify's admin has. */
const SHOPIFY_EXPORT = ["Name", "Financial Status", "Lineitem quantity"];
/** @type {(readonly [separator: string, word: string])[]} */
const SEPARATORS = [
  [";", "semicolons"],
  ["\t", "tabs"],
  ["|", "vertical bars"],
];

const uploadArea = document.querySelector("[data-upload]");
if (uploadArea instanceof HTMLElement) prepareUpload(uploadArea);

/** @param {HTMLElement} area */
function prepareUpload(area) {
  const rules = /** @type {UploadRules} */ (JSON.parse(area.dataset["rules"] ?? "{}"));
  /** @param {string} selector */
  const find = (selector) => /** @type {HTMLElement} */ (area.querySelector(selector));
  const form = /** @type {HTMLFormElement} */ (find("form"));
  const button = /** @type {HTMLButtonElement} */ (find("button"));
  const bar = /** @type {HTMLProgressElement} */ (find("progress"));
  let isSending = false;
  /** @type {File[]} */
  let chosen = [];

  /** @param {string} text */
  const say = (text) => (find("[role=status]").textContent = text);
  /** @param {number} done @param {number} total */
  const showSent = (done, total) => {
    bar.hidden = false;
    Object.assign(bar, { max: total, value: done });
    say(`${uploadedMegabytes(done)} of ${uploadedMegabytes(total)} MB are sent.`);
  };
  const showRetry = () =>
    say(
      `${uploadedMegabytes(bar.value)} of ${uploadedMegabytes(bar.max)} MB are sent. Interrupted; trying again.`,
    );
  /** @param {File[]} files */
  const choose = async (files) => {
    chosen = files.filter(({ name }) => columnsOf(name, rules) !== undefined);
    const csvFiles = files.filter(({ name }) => CSV_NAME.test(name));
    const others = files.length - chosen.length;
    const names = chosen.map(({ name, size }) => `${name} (${uploadedMegabytes(size)} MB)`).join(", ");
    const ignored = others === 0 ? "" : ` ${others} other files are left out.`;
    const chosenText = names === "" ? "None of these files has a name of the import format." : `${names}.`;
    find("[data-chosen]").textContent = chosenText + ignored;
    const connectHref = area.dataset["connect"] ?? "";
    const checked = await Promise.all(csvFiles.map((file) => headerProblem(file, rules, connectHref)));
    const problems = checked.flat();
    find("[data-problems]").replaceChildren(...problems);
    button.disabled = chosen.length === 0 || problems.length > 0;
  };

  area.hidden = false;
  for (const input of area.querySelectorAll("input[type=file]")) {
    if (input instanceof HTMLInputElement)
      input.addEventListener("change", () => void choose([...(input.files ?? [])]));
  }
  addEventListener("beforeunload", (event) => {
    if (isSending) event.preventDefault();
  });
  const send = async () => {
    button.disabled = isSending = true;
    try {
      const fields = new URLSearchParams(/** @type {any} */ (new FormData(form)));
      if (area.dataset["upload"] === "") area.dataset["upload"] = await startUpload(area, fields, chosen);
      const address = area.dataset["upload"] ?? "";
      await sendFiles(address, chosen, rules.part_bytes, { say, showSent, showRetry });
      isSending = false;
      askForImport(address);
    } catch (error) {
      say(error instanceof Error ? error.message : String(error));
      button.textContent = "Continue";
      button.disabled = isSending = false;
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void send();
  });
}

/** @param {number} bytes */
const uploadedMegabytes = (bytes) => (bytes / 1e6).toFixed(1);

/** @param {(string | Node)[]} content */
function bannerOf(...content) {
  const banner = document.createElement("p");
  banner.className = "banner refused";
  banner.append(...content);
  return banner;
}

/**
 * @param {string} name
 * @param {UploadRules} rules
 */
function columnsOf(name, rules) {
  return FILE_NAME.test(name) ? rules.columns[name.replace(FILE_NAME, "")] : undefined;
}

/**
 * Banners about the first line of a file, so that it is said before gigabytes are sent. A file without a name of the format
 * is refused only as a Shopify export: people choose that in place of the format.
 *
 * @param {File} file
 * @param {UploadRules} rules
 * @param {string} connectHref
 */
async function headerProblem(file, rules, connectHref) {
  const columns = columnsOf(file.name, rules);
  try {
    const line = (await firstLine(file)).replaceAll('"', "");
    /** @param {string | RegExp} separator */
    const namesBy = (separator) => new Set(line.split(separator).map((name) => name.trim()));
    const ofExport = namesBy(/[,;\t]/u);
    if (SHOPIFY_EXPORT.every((name) => ofExport.has(name))) {
      const link = Object.assign(document.createElement("a"), {
        href: connectHref,
        textContent: "Connect the shop",
      });
      const why = `${file.name} is an order export of Shopify’s admin, which does not say which units came back. `;
      return [bannerOf(why, link, " instead.")];
    }
    if (columns === undefined) return [];
    const names = namesBy(",");
    const [required, ofDeleted] = columns;
    const needed = names.has("deleted") ? ofDeleted : required;
    const missing = needed.filter((name) => !names.has(name));
    if (missing.length === 0) return [];
    const other = SEPARATORS.find(([separator]) => {
      const found = namesBy(separator);
      return needed.filter((name) => found.has(name)).length > needed.length - missing.length;
    });
    if (other === undefined)
      return [bannerOf(`${file.name}: the first line lacks the columns ${missing.join(", ")}.`)];
    const step = "Export the file with commas between them.";
    return [bannerOf(`${file.name}: the cells are separated by ${other[1]}. ${step}`)];
  } catch {
    return columns === undefined ? [] : [bannerOf(`${file.name} cannot be read.`)];
  }
}

/** @param {File} file */
async function firstLine(file) {
  const start = file.slice(0, HEADER_BYTES);
  const bytes = file.name.endsWith(".gz")
    ? start.stream().pipeThrough(new DecompressionStream("gzip"))
    : start.stream();
  const reader = bytes.getReader();
  const { value } = await reader.read();
  void reader.cancel().catch(() => {});
  // Excel puts a line of its own above the header, such as sep=;
  const [line = ""] = new TextDecoder()
    .decode(value)
    .replace(/^"?sep=.*[\r\n]+/iu, "")
    .split(/[\r\n]/u, 1);
  return line;
}

/**
 * Announces the files; the address is the upload's from now on, so that a reload leads to it.
 *
 * @param {HTMLElement} area
 * @param {URLSearchParams} fields
 * @param {File[]} files
 */
async function startUpload(area, fields, files) {
  for (const { name, size } of files) {
    fields.append("file", name);
    fields.append("bytes", String(size));
  }
  const { href } = await (await postUpload(area.dataset["start"] ?? "", fields)).json();
  history.replaceState(null, "", href);
  return href;
}

/**
 * Sends what is missing; a file that differs from what was sent of it is sent again from its start.
 *
 * @param {string} address
 * @param {File[]} files
 * @param {number} partBytes
 * @param {{ say: (text: string) => void, showSent: (done: number, total: number) => void, showRetry: () => void }} show
 */
async function sendFiles(address, files, partBytes, { say, showSent, showRetry }) {
  say("Comparing with what is there");
  /** @type {{ files: SentFile[] }} */
  const sent = await (await postUpload(`${address}/parts`, new URLSearchParams())).json();
  const waiting = [];
  let total = 0;
  for (const file of files) {
    const count = Math.ceil(file.size / partBytes);
    const parts = Array.from({ length: count }, (_, part) =>
      file.slice(part * partBytes, (part + 1) * partBytes),
    );
    const there = sent.files.find(({ name }) => name === file.name);
    const isSame = there?.bytes === file.size && (await hasParts(there, parts));
    if (!isSame)
      await postUpload(
        `${address}/files`,
        new URLSearchParams({ file: file.name, bytes: String(file.size) }),
      );
    total += file.size;
    for (const [part, blob] of parts.entries()) {
      if (!isSame || there.parts[part] === null)
        waiting.push({ place: `${address}/parts/${file.name}/${part}`, blob });
    }
  }
  let done = total - waiting.reduce((sum, { blob }) => sum + blob.size, 0);
  showSent(done, total);
  for (const { place, blob } of waiting) {
    const pause = pauseUpload(waiting.length > MANY_PARTS ? PAUSE_OF_MANY_MS : 0);
    // Fails at once for a file that was changed or moved meanwhile.
    await postUpload(place, await blob.arrayBuffer(), showRetry);
    showSent((done += blob.size), total);
    await pause;
  }
}

/**
 * @param {SentFile} there
 * @param {Blob[]} parts
 */
async function hasParts(there, parts) {
  for (const [index, part] of parts.entries()) {
    const digest = there.parts[index];
    if (digest === null || digest === undefined) continue;
    const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", await part.arrayBuffer()));
    if ([...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("") !== digest) return false;
  }
  return true;
}

/**
 * Tries again while nobody answers; throws with the service's own sentence when it refuses.
 *
 * @param {string} address
 * @param {URLSearchParams | ArrayBuffer} body
 * @param {() => void} onRetry
 */
async function postUpload(address, body, onRetry = () => {}) {
  const headers = body instanceof ArrayBuffer ? { "Content-Type": "application/octet-stream" } : undefined;
  for (let tries = 1; ; tries += 1) {
    const request = { method: "POST", redirect: /** @type {const} */ ("manual"), body, headers };
    const answer = await fetch(address, /** @type {RequestInit} */ (request)).catch(() => null);
    if (answer?.ok === true) return answer;
    if (answer?.type === "opaqueredirect")
      throw new Error("You are signed out. Sign in again in another tab, then continue.");
    if (answer !== null && answer.status !== 429 && answer.status < 500) {
      const told = await answer.json().catch(() => null);
      throw new Error(told?.error?.message ?? `The service refuses this (${answer.status}).`);
    }
    if (tries === MOST_TRIES)
      throw new Error("The service does not answer. Continue where it stopped by pressing the button.");
    onRetry();
    const asked = Number(answer?.headers.get("Retry-After") ?? 0) * 1000;
    await pauseUpload(Math.max(asked, Math.min(LONGEST_PAUSE_MS, 250 * 2 ** tries)));
  }
}

/** @param {number} ms */
function pauseUpload(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * As a form, so that its answer leads to the progress or says why not.
 *
 * @param {string} address
 */
function askForImport(address) {
  const form = document.createElement("form");
  Object.assign(form, { method: "post", action: `${address}/import`, hidden: true });
  document.body.append(form);
  form.submit();
}
