import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { SMTPServerOptions } from "smtp-server";
import { readList, runAction } from "../src/actions/action.ts";
import { endpointList, testEndpoint } from "../src/actions/alert-endpoints/actions.ts";
import { textInput } from "../src/actions/field.ts";
import { Refusal } from "../src/actions/refusal.ts";
import { blockListOf } from "../src/lib/networks.ts";
import type { Resolve } from "../src/lib/guarded-lookup.ts";
import type { PushOptions } from "../src/alerts/delivery/send.ts";
import {
  LOCAL_PUSH,
  addTestEndpoint,
  createClock,
  deliverAll,
  deliveryEnvironment,
  notifyTools,
  writeAlerts,
} from "./support/push.ts";
import type { TestAlert, TestClock } from "./support/push.ts";
import { startMailServer } from "./support/mail-server.ts";
import { startReceiver, type Receiver } from "./support/receiver.ts";
import { startTestService } from "./support/service.ts";
import { createTenant, type Tenant } from "./support/tenants.ts";
import { use } from "./support/use.ts";
import type { SmtpOptions } from "../src/alerts/delivery/mail.ts";

/** Where alerts may be pushed to, chat addresses, digests and test messages. */
const service = use(startTestService);
let receiver: Receiver;
let tenant: Tenant;
let clock: TestClock;

beforeEach(async () => {
  await service.database.query("delete from alert_endpoint");
  receiver = await startReceiver();
  tenant = await createTenant(service.database);
  clock = createClock();
});

afterEach(() => receiver.stop());

const deliver = (push: PushOptions): Promise<void> =>
  deliverAll(deliveryEnvironment(service, clock.now, push));

const endpoints = async () => readList(endpointList, await notifyTools(service, tenant));

const isInvalid = (message: RegExp) => (error: unknown) =>
  error instanceof Refusal && error.kind === "invalid" && message.test(error.message);

const STRICT: PushOptions = { ...LOCAL_PUSH, allowedNetworks: blockListOf([]) };
const PUBLIC_ADDRESS = { address: "203.0.114.7", family: 4 };

test("an address of this machine or of a private network cannot be added, nor one without https", async () => {
  const refused: [sentence: RegExp, addresses: string[]][] = [
    [
      /must be public/u,
      [
        "https://127.0.0.1/x",
        "https://localhost/x",
        "https://[::1]/x",
        "https://2130706433/x",
        "https://169.254.169.254/latest/meta-data",
        "https://10.0.0.1:8443/",
        "https://[::ffff:192.168.0.1]/",
      ],
    ],
    [/https:\/\//u, ["http://shop.example/x", "ftp://shop.example", "https://user:word@shop.example", "x"]],
  ];
  for (const [sentence, addresses] of refused)
    for (const address of addresses) {
      const added = addTestEndpoint(service, tenant, { address }, STRICT);
      await assert.rejects(added, isInvalid(sentence), address);
    }
});

test("a name that resolves to this machine is refused when connecting, even if it resolved elsewhere a moment before", async () => {
  const { port } = new URL(receiver.url);
  const address = `https://receiver.example:${port}/hook`;
  await addTestEndpoint(service, tenant, { address }, STRICT);
  await writeAlerts(service, tenant, [{}]);
  let lookups = 0;
  const rebinding: Resolve = (_name, done) => {
    lookups += 1;
    done(
      null,
      lookups === 1 ? [PUBLIC_ADDRESS, { address: "127.0.0.1", family: 4 }] : [{ address: "::1", family: 6 }],
    );
  };
  const push = { ...STRICT, resolve: rebinding };
  for (let tries = 1; tries <= 2; tries++) {
    await deliver(push);
    assert.equal(lookups, tries, "one look-up, whose addresses are those of the connection");
    const [endpoint] = await endpoints();
    assert.match(endpoint?.last_problem ?? "", /receiver\.example is not a public https address/u);
    clock.forward(60);
  }
  assert.equal(receiver.received.length, 0);
});

test("an allowed network is reached by name over http, and no public address is", async () => {
  const { port } = new URL(receiver.url);
  await addTestEndpoint(service, tenant, { address: `http://receiver.example:${port}/hook` });
  await writeAlerts(service, tenant, [{}]);
  await deliver({ ...LOCAL_PUSH, resolve: (_name, done) => done(null, [PUBLIC_ADDRESS]) });
  const [endpoint] = await endpoints();
  assert.match(endpoint?.last_problem ?? "", /not a public https address/u);
  clock.forward(1);
  await deliver({
    ...LOCAL_PUSH,
    resolve: (_name, done) => done(null, [{ address: "127.0.0.1", family: 4 }]),
  });
  assert.equal(receiver.received.length, 1);
});

/** Delivers what is due at a fixed time. */
const deliverAt = (time: string): Promise<void> =>
  deliverAll(deliveryEnvironment(service, () => new Date(time), LOCAL_PUSH));

/** An alert of a fixed time; the database's own clock is not moved. */
async function writeAlertAt(time: string, alert: TestAlert): Promise<void> {
  const [alertId] = await writeAlerts(service, tenant, [alert]);
  await service.database.query("update alert set created_at = $3 where shop_key = $1 and alert_id = $2", [
    tenant.shopKey,
    alertId,
    time,
  ]);
}

test("a chat receives text, and a daily digest is one message, the same at every try", async () => {
  await addTestEndpoint(service, tenant, { kind: "slack", address: receiver.url, digest_hour: "7" });
  await writeAlertAt("2040-01-01T06:00:00Z", { title: "First <one>" });
  await writeAlertAt("2040-01-01T06:30:00Z", { title: "Second", severity: "critical" });
  await deliverAt("2040-01-01T06:59:00Z");
  assert.equal(receiver.received.length, 0, "its hour has not come");
  const [waiting] = await endpoints();
  assert.equal(waiting?.due_at?.toISOString(), "2040-01-01T07:00:00.000Z");
  await deliverAt("2040-01-01T07:00:30Z");
  const [message] = receiver.received;
  const text = JSON.parse(message?.body ?? "") as Record<string, string>;
  assert.deepEqual(Object.keys(text), ["text"]);
  assert.match(text["text"] ?? "", /^2 alerts for [^]*\*info\* First &lt;one&gt;[^]*\*critical\* Second/u);
  assert.equal(message?.headers["webhook-signature"], undefined);

  await writeAlertAt("2040-01-01T08:00:00Z", { title: "Third" });
  receiver.answer(500);
  await deliverAt("2040-01-02T07:00:30Z");
  await writeAlertAt("2040-01-02T09:00:00Z", { title: "Fourth" });
  receiver.answer(200);
  await deliverAt("2040-01-03T07:00:30Z");
  const [, failed, repeated, next, ...others] = receiver.received.map(({ body }) => body);
  assert.match(failed ?? "", /^[^]*1 alert for [^]*Third/u);
  assert.equal(repeated, failed);
  assert.match(next ?? "", /1 alert for [^]*Fourth/u);
  assert.deepEqual(others, []);
});

test("a webhook with a daily hour receives each alert separately", async () => {
  await addTestEndpoint(service, tenant, { address: receiver.url, digest_hour: "0" });
  await writeAlertAt("2040-01-01T06:00:00Z", { title: "First" });
  await writeAlertAt("2040-01-01T07:00:00Z", { title: "Second" });
  await deliverAt("2040-01-01T23:59:59Z");
  assert.equal(receiver.received.length, 0);
  await deliverAt("2040-01-02T00:00:01Z");
  const titles = receiver.received.map(({ body }) => (JSON.parse(body) as { title: string }).title);
  assert.deepEqual(titles, ["First", "Second"]);
});

test("a test message is sent at once, at most every ten seconds, and its result is shown", async () => {
  const { endpoint_id: endpointId } = await addTestEndpoint(service, tenant, { address: receiver.url });
  const tools = await notifyTools(service, tenant);
  const input = textInput({ endpoint: endpointId });
  const { result } = await runAction(testEndpoint, tools, input);
  assert.equal(result.answer, "The receiver answered 204.");
  const [message] = receiver.received;
  assert.match(message?.id ?? "", /^msg_test-/u);
  assert.equal((JSON.parse(message?.body ?? "") as { category: string }).category, "test");
  await assert.rejects(runAction(testEndpoint, tools, input), /wait 10 seconds/u);
  receiver.answer(404);
  const later = { ...tools, now: new Date(tools.now.getTime() + 11_000) };
  await assert.rejects(
    runAction(testEndpoint, later, input),
    /was not delivered\. The receiver answered 404\./u,
  );
  const [endpoint] = await endpoints();
  assert.deepEqual([endpoint?.failures, endpoint?.last_delivered_at], [0, null]);
});

test("an address that was encrypted under another secret is not used, and the endpoint says so", async () => {
  await addTestEndpoint(service, tenant, { address: receiver.url });
  await writeAlerts(service, tenant, [{}]);
  const environment = deliveryEnvironment(service, clock.now);
  await deliverAll({ ...environment, sealingKey: Buffer.alloc(32, 9) });
  const [endpoint] = await endpoints();
  assert.match(endpoint?.last_problem ?? "", /encrypted with keys that this installation no longer has/u);
  assert.equal(receiver.received.length, 0);
});

/** Alerts by e-mail, over a real SMTP server. */
let stopMail: (() => Promise<void>) | null = null;

afterEach(async () => {
  await stopMail?.();
  stopMail = null;
});

const TLS = join(import.meta.dirname, "support/tls");
const CERTIFICATE = readFileSync(join(TLS, "localhost.pem"), "utf8");

async function startMail(options: SMTPServerOptions, smtp: Partial<SmtpOptions> = {}) {
  const mail = await startMailServer(options, smtp);
  stopMail = () => mail.stop();
  return mail;
}

async function lastProblem(): Promise<string> {
  return (await endpoints())[0]?.last_problem ?? "";
}

const MAIL = { kind: "email", address: "team@shop.example" };

test("mail is sent to the SMTP server only over TLS and with a password", async () => {
  const key = readFileSync(join(TLS, "localhost.key.pem"), "utf8");
  const onAuth: SMTPServerOptions["onAuth"] = ({ username, password }, _session, done) =>
    username === "returns" && password === "a password"
      ? done(null, { user: "returns" })
      : done(new Error("no"));
  const login = { user: "returns", password: "a password", ca: CERTIFICATE, host: "localhost" };
  for (const tls of ["implicit", "starttls"] as const) {
    const secure = { secure: tls === "implicit", key, cert: CERTIFICATE, authOptional: false, onAuth };
    const { push, mails } = await startMail(secure, { ...login, tls });
    await service.database.query("delete from alert_endpoint");
    const { endpoint_id: endpointId } = await addTestEndpoint(service, tenant, MAIL, push);
    const [alertId] = await writeAlerts(service, tenant, [{ title: "Päärynä\r\nBcc: other@shop.example" }]);
    const untrusting = { ...push, smtp: { ...(push.smtp as SmtpOptions), ca: "" } };
    await deliver(untrusting);
    assert.equal(mails.length, 0);
    assert.match(
      await lastProblem(),
      /^The mail server localhost:\d+ could not be used: .*certificate.*\.$/u,
    );
    clock.forward(1);
    await deliver(push);
    assert.equal(mails.length, 1, (await endpoints())[0]?.last_problem ?? "");
    assert.deepEqual(mails[0]?.to, ["team@shop.example"]);
    assert.ok(mails[0]?.text.includes(`Message-ID: <msg_${alertId}_${endpointId}@returns.example>`));
    const [head = ""] = (mails[0]?.text ?? "").split("\r\n\r\n");
    assert.match(head, /^Subject: /mu);
    assert.doesNotMatch(head, /^Bcc:/mu);
    await stopMail?.();
    stopMail = null;
  }
  const plain = await startMail({ disabledCommands: ["STARTTLS"] }, { ...login, tls: "starttls" });
  await writeAlerts(service, tenant, [{}]);
  await deliver(plain.push);
  assert.equal(plain.mails.length, 0, "a server without TLS gets neither password nor message");
  assert.match(await lastProblem(), /STARTTLS/u);
});

test("a mail error says what failed: the network, or the server in its own words", async () => {
  const { push } = await startMail({
    disabledCommands: ["STARTTLS"],
    onMailFrom: (_from, _session, done) =>
      done(Object.assign(new Error("5.7.1 Sender\r\nnot allowed"), { responseCode: 451 })),
  });
  await addTestEndpoint(service, tenant, MAIL, push);
  await writeAlerts(service, tenant, [{}]);
  await deliver(push);
  assert.equal(await lastProblem(), "The mail server answered to MAIL: 451 5.7.1 Sender not allowed.");
  clock.forward(1);
  await deliver({ ...push, smtp: { ...(push.smtp as SmtpOptions), port: 1 } });
  assert.match(
    await lastProblem(),
    /^The mail server 127\.0\.0\.1:1 could not be used: connect ECONNREFUSED 127\.0\.0\.1:1 \(ESOCKET\)\.$/u,
  );
});

test("a 4xx of the mail server is retried, and a 5xx pauses at once", async () => {
  let answer = 450;
  const { push, mails } = await startMail({
    disabledCommands: ["STARTTLS"],
    onRcptTo: (_address, _session, done) =>
      answer === 250 ? done() : done(Object.assign(new Error("not now"), { responseCode: answer })),
  });
  await addTestEndpoint(service, tenant, MAIL, push);
  await writeAlerts(service, tenant, [{}, {}]);
  await deliver(push);
  const [waiting] = await endpoints();
  assert.deepEqual([waiting?.failures, waiting?.paused_at], [1, null]);
  assert.match(waiting?.last_problem ?? "", /answered to RCPT: 450 not now/u);
  clock.forward(1);
  answer = 250;
  await deliver(push);
  assert.equal(mails.length, 2);
  answer = 550;
  await writeAlerts(service, tenant, [{}]);
  await deliver(push);
  const [refused] = await endpoints();
  assert.equal(refused?.pause_reason, "refused");
  assert.match(refused?.last_problem ?? "", /refused the recipient or the message \(550 not now\)/u);
});

test("a mailbox, which may be a stranger's, gets at most one test message a minute and ten a day, even if it is added again", async () => {
  const { push, mails } = await startMail({});
  const { endpoint_id: endpointId } = await addTestEndpoint(service, tenant, MAIL, push);
  const { now, ...tools } = await notifyTools(service, tenant, push);
  const testAt = (seconds: number, endpoint = endpointId) =>
    runAction(
      testEndpoint,
      { ...tools, now: new Date(now.getTime() + seconds * 1000) },
      textInput({ endpoint }),
    );
  await testAt(0);
  await assert.rejects(testAt(59), /wait 60 seconds/u);
  for (let minute = 1; minute < 10; minute += 1) await testAt(minute * 60);
  const address = MAIL.address.toUpperCase();
  const { endpoint_id: again } = await addTestEndpoint(service, tenant, { ...MAIL, address }, push);
  for (const endpoint of [endpointId, again])
    await assert.rejects(testAt(600, endpoint), /^Refusal: 10 test messages .* within a day/u);
  assert.equal(mails.length, 10);
});

test("without a mail server no address is added, and waiting endpoints say why", async () => {
  await assert.rejects(addTestEndpoint(service, tenant, MAIL), /has to set SMTP_URL/u);
  const { push } = await startMail({});
  await addTestEndpoint(service, tenant, MAIL, push);
  await writeAlerts(service, tenant, [{}]);
  await deliver(LOCAL_PUSH);
  const [endpoint] = await endpoints();
  assert.match(endpoint?.last_problem ?? "", /cannot send e-mail/u);
});
