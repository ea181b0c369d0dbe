import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { SMTPServer } from "smtp-server";
import type { SMTPServerOptions } from "smtp-server";
import { readList } from "../src/actions/action.ts";
import { endpointList } from "../src/actions/alert-endpoints/actions.ts";
import type { SmtpOptions } from "../src/push/mail.ts";
import type { PushOptions } from "../src/push/send.ts";
import {
  addTestEndpoint,
  createClock,
  deliverAll,
  deliveryEnvironment,
  LOCAL_PUSH,
  notifyTools,
  writeAlerts,
} from "./support/push.ts";
import type { TestClock } from "./support/push.ts";
import { startTestService } from "./support/service.ts";
import { createTenant } from "./support/tenants.ts";
import type { Tenant } from "./support/tenants.ts";
import { use } from "./support/use.ts";

/** Alerts by e-mail, over a real SMTP server. */

const service = use(startTestService);
let tenant: Tenant;
let clock: TestClock;
let stopMail: (() => Promise<void>) | null = null;

beforeEach(async () => {
  await service.database.query("delete from alert_endpoint");
  tenant = await createTenant(service.database);
  clock = createClock();
});
afterEach(async () => {
  await stopMail?.();
  stopMail = null;
});

const deliver = (push: PushOptions): Promise<void> =>
  deliverAll(deliveryEnvironment(service, clock.now, push));
const endpoints = async () => readList(endpointList, await notifyTools(service, tenant));

type Mail = { to: string[]; text: string };

const TLS = join(import.meta.dirname, "support/tls");
const CERTIFICATE = readFileSync(join(TLS, "localhost.pem"), "utf8");

/** A mail server on this machine, and the options that reach it. */
async function startMail(
  options: SMTPServerOptions,
  smtp: Partial<SmtpOptions> = {},
): Promise<{ push: PushOptions; mails: Mail[] }> {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    logger: false,
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        mails.push({
          to: session.envelope.rcptTo.map(({ address }) => address),
          // Long lines of the head are folded.
          text: Buffer.concat(chunks)
            .toString("utf8")
            .replaceAll(/\r\n[ \t]+/gu, " "),
        });
        done();
      });
    },
    ...options,
  });
  server.on("error", () => {});
  const address = await new Promise<{ port: number }>((done) => {
    const listening = server.listen(0, "127.0.0.1", () => done(listening.address() as { port: number }));
  });
  stopMail = () => new Promise((done) => server.close(done));
  const mailServer: SmtpOptions = {
    host: "127.0.0.1",
    port: address.port,
    tls: "none",
    user: null,
    password: null,
    from: "alerts@returns.example",
    ...smtp,
  };
  return { push: { ...LOCAL_PUSH, smtp: mailServer }, mails };
}

async function lastProblem(): Promise<string> {
  return (await endpoints())[0]?.last_problem ?? "";
}

const MAIL = { kind: "email", address: "team@shop.example" };

test("mail is handed to the SMTP server over TLS with a password, and not without either", async () => {
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

test("without a mail server no address is added, and what waits says why", async () => {
  await assert.rejects(addTestEndpoint(service, tenant, MAIL), /has to set SMTP_URL/u);
  const { push } = await startMail({});
  await addTestEndpoint(service, tenant, MAIL, push);
  await writeAlerts(service, tenant, [{}]);
  await deliver(LOCAL_PUSH);
  const [endpoint] = await endpoints();
  assert.match(endpoint?.last_problem ?? "", /sends no mail/u);
});
