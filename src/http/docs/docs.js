// Pages read well without this: it adds copying of code and, on the reference, trying of requests.

const EXAMPLE_ADDRESS = "http://127.0.0.1:8080";
/** The newest month that was complete when the examples were made, and the days until a month is. */
const EXAMPLE_MONTH = { year: 2026, month: 5 };
const WINDOW_DAYS = 30;

for (const code of document.querySelectorAll("pre code")) addressThisService(code);
for (const block of document.querySelectorAll("pre")) addCopyButton(block);
for (const code of document.querySelectorAll("code.language-json")) colour(code);
for (const input of document.querySelectorAll("form.try input")) moveToNow(input);
for (const form of document.querySelectorAll("form.try")) prepare(form);
document.querySelector("#access")?.addEventListener("submit", (event) => event.preventDefault());
document.querySelector("details.menu")?.addEventListener("click", (event) => {
  if (event.target.closest("a") !== null) event.currentTarget.open = false;
});

/** The examples are written for a service on one's own machine. */
function addressThisService(code) {
  if (code.textContent.includes(EXAMPLE_ADDRESS)) {
    code.textContent = code.textContent.replaceAll(EXAMPLE_ADDRESS, location.origin);
  }
}

function addCopyButton(block) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", () => void copy(block.querySelector("code").textContent, button));
  const holder = document.createElement("div");
  holder.className = "code";
  block.replaceWith(holder);
  holder.append(block, button);
}

async function copy(text, button) {
  await navigator.clipboard.writeText(text);
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = "Copy"), 1500);
}

/** Marks names, texts and numbers of JSON; text stays text. */
function colour(code) {
  const parts = code.textContent.split(
    // oxlint-disable-next-line house/linear-patterns -- sees the examples of its own page
    /("(?:[^"\\]|\\.)*"(?:\s*:)?|-?\b\d[\d.eE+-]*\b|\btrue\b|\bfalse\b|\bnull\b)/u,
  );
  code.replaceChildren(
    ...parts.map((part, index) => {
      if (index % 2 === 0) return part;
      const span = document.createElement("span");
      span.className = part.endsWith(":") ? "name" : part.startsWith('"') ? "text" : "value";
      span.textContent = part;
      return span;
    }),
  );
}

/** Examples are about their newest months; a form asks for those of today. */
function moveToNow(input) {
  const [, year, month, rest] = /^(\d{4})-(\d{2})(|-.*)$/u.exec(input.defaultValue) ?? [];
  if (year === undefined) return;
  // The month before the one that was running a window ago is the newest with every window closed.
  const then = new Date(Date.now() - WINDOW_DAYS * 86_400_000);
  const months =
    (then.getUTCFullYear() - EXAMPLE_MONTH.year) * 12 + (then.getUTCMonth() - EXAMPLE_MONTH.month);
  const moved = new Date(Date.UTC(Number(year), Number(month) - 1 + months));
  input.defaultValue = moved.toISOString().slice(0, 7) + rest;
}

function prepare(form) {
  const panel = form.closest(".operation").querySelector(".panel");
  const example = { outcome: panel.querySelector(".outcome").textContent, answer: answerOf(panel) };
  const showRequest = () => {
    panel.querySelector(".request code").textContent = curlText(form);
  };
  showRequest();
  form.addEventListener("input", showRequest);
  form.addEventListener("reset", () => {
    setTimeout(showRequest);
    show(panel, example.outcome, example.answer);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void send(form, panel);
  });
}

function answerOf(panel) {
  const code = panel.querySelector(".answer code");
  return { text: code.textContent, isJson: code.classList.contains("language-json") };
}

function givenParameters(form) {
  return [...new URLSearchParams(new FormData(form))].filter(([, value]) => value !== "");
}

/** The path with what the form fills in, and the other parameters. */
function placed(form) {
  const given = givenParameters(form);
  const isInPath = ([name]) => form.dataset.path.includes(`{${name}}`);
  const path = given
    .filter(isInPath)
    .reduce((text, [name, value]) => text.replace(`{${name}}`, value), form.dataset.path);
  return { path, query: given.filter((pair) => !isInPath(pair)) };
}

function curlText(form) {
  const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
  const { path, query } = placed(form);
  return [
    `curl -sS -G ${quoted(location.origin + path)}`,
    '-H "Authorization: Bearer $TOKEN"',
    ...query.map(([name, value]) => `--data-urlencode ${quoted(`${name}=${value}`)}`),
  ].join(" \\\n  ");
}

async function send(form, panel) {
  const token = document.querySelector("#token");
  const missing = form.querySelector(".missing");
  missing.hidden = token.value.trim() !== "";
  if (!missing.hidden) {
    show(panel, "Enter a token first", {
      text: "The field for it is at the top of this page.",
      isJson: false,
    });
    return;
  }
  const button = form.querySelector("button[type=submit]");
  button.disabled = true;
  const startedAt = performance.now();
  try {
    const { path, query } = placed(form);
    const response = await fetch(`${path}?${new URLSearchParams(query)}`, {
      headers: { authorization: `Bearer ${token.value.trim()}` },
      credentials: "omit",
    });
    const text = await response.text();
    const durationMs = Math.round(performance.now() - startedAt);
    show(panel, outcomeText(response, durationMs), readable(response, text), response.ok ? "ok" : "refused");
  } catch (error) {
    show(panel, "No answer", { text: String(error), isJson: false }, "refused");
  } finally {
    button.disabled = false;
    // On a narrow page the answer lies below the form.
    panel.scrollIntoView({ block: "nearest" });
  }
}

function outcomeText(response, durationMs) {
  const left = response.headers.get("x-ratelimit-remaining");
  const quota = left === null ? "" : ` · ${Number(left).toLocaleString("en")} requests left today`;
  return `${response.status} ${response.statusText} · ${durationMs} ms${quota}`;
}

function readable(response, text) {
  const isJson = (response.headers.get("content-type") ?? "").startsWith("application/json");
  return { text: isJson ? JSON.stringify(JSON.parse(text), null, 2) : text, isJson };
}

function show(panel, outcome, answer, state = "") {
  const title = panel.querySelector(".outcome");
  title.textContent = outcome;
  title.dataset.state = state;
  const code = panel.querySelector(".answer code");
  code.className = answer.isJson ? "language-json" : "";
  code.textContent = answer.text;
  if (answer.isJson) colour(code);
  panel.querySelector(".answer pre").scrollTop = 0;
}
