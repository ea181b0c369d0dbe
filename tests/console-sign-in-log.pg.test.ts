import assert from "node:assert/strict";
import { test } from "node:test";
import { cookieOf, makeUserLink, postForm } from "./support/console-person.ts";
import { startTestService } from "./support/service.ts";
import { use } from "./support/use.ts";

const service = use(startTestService);

type Line = Record<string, unknown> & { level: number };

const INFO = 30;
const WARN = 40;

/** The line of a request; it is written when its answer is on its way. */
async function lineOf(requestId: string, message = "request"): Promise<Line> {
  for (;;) {
    const lines = service.logs
      .filter((line) => line.includes(`"${requestId}"`))
      .map((line) => JSON.parse(line) as Line);
    const found = lines.find((line) => line["msg"] === message);
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const secrets: string[] = [];

async function enter(
  requestId: string,
  secret: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  secrets.push(secret);
  const response = await postForm(service, "/enter", { secret }, { "x-request-id": requestId, ...headers });
  const [, session = ""] = cookieOf(response).split("=");
  if (session !== "") secrets.push(session);
  return response;
}

test("sign-ins, sign-outs, failures and refusals are logged, and no line holds a secret", async () => {
  const link = await makeUserLink(service, { name: "Logged" });
  const cookie = cookieOf(await enter("entered", link.secret));
  const signedIn = await lineOf("entered", "signed in");
  assert.deepEqual([signedIn.level, signedIn["user_id"]], [INFO, link.user_id]);

  await enter("used", link.secret);
  const used = await lineOf("used");
  assert.deepEqual(
    [used.level, used["status"], used["user_id"], used["reason"], used["remote_address"]],
    [WARN, 403, link.user_id, "sign-in link: used", "127.0.0.1"],
  );
  await enter("unknown", "A".repeat(43));
  assert.equal((await lineOf("unknown"))["reason"], "sign-in link: unknown");

  const { secret } = await makeUserLink(service, { name: "Logged" });
  await enter("foreign", secret, { origin: "http://evil.example" });
  assert.equal((await lineOf("foreign"))["reason"], "not sent by a page of the console");

  await postForm(service, "/sign-out", {}, { cookie, "x-request-id": "left" });
  assert.equal((await lineOf("left", "signed out"))["user_id"], link.user_id);

  const { rows } = await service.database.query<{ action: string; detail: object }>(
    "select action, detail from identity_event where actor = $1 order by happened_at",
    [`user:${link.user_id}`],
  );
  assert.deepEqual(
    rows.map(({ action }) => action),
    ["session.begin", "session.end"],
  );
  const written = service.logs.join("") + JSON.stringify(rows);
  assert.equal(new Set(secrets).size, 4);
  for (const text of secrets) assert.ok(!written.includes(text));
  assert.ok(!written.includes("Logged"), "names are not logged");
});

test("what fails in the database is a page with the request's id, and the log holds no secret", async () => {
  const { secret } = await makeUserLink(service, { name: "Unlucky" });
  await service.database.query("alter table console_session rename to console_session_away");
  try {
    const response = await enter("broken", secret);
    assert.equal(response.status, 500);
    assert.match(response.headers.get("content-security-policy") ?? "", /default-src 'none'/u);
    assert.ok((await response.text()).includes("broken"));
    assert.equal((await lineOf("broken", "unexpected error")).level, 50);
  } finally {
    await service.database.query("alter table console_session_away rename to console_session");
  }
  for (const text of secrets) assert.ok(!service.logs.join("").includes(text));
  assert.equal((await enter("again", secret)).status, 303, "the link was not used up");
});

test("an address that posts more than thirty links a minute waits, whatever it posts", async () => {
  let status = 403;
  // Of 61 posts some minute has more than thirty, also when the minute ends between them.
  for (let post = 0; post < 61 && status === 403; post++) {
    const response = await postForm(service, "/enter", { secret: "" }, { "x-request-id": `post-${post}` });
    status = response.status;
    if (status !== 429) continue;
    assert.equal(response.headers.get("retry-after"), "60");
    assert.equal((await lineOf(`post-${post}`))["reason"], "too many sign-ins from this address");
  }
  assert.equal(status, 429);
});
