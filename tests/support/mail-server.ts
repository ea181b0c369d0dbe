import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import type { SmtpOptions } from "../../src/alerts/delivery/mail.ts";
import type { PushOptions } from "../../src/alerts/delivery/send.ts";
import { LOCAL_PUSH } from "./push.ts";

export type Mail = { to: string[]; text: string };

/** A mail server on this machine, and the options that reach it. */
export async function startMailServer(
  options: SMTPServerOptions = {},
  smtp: Partial<SmtpOptions> = {},
): Promise<{ push: PushOptions; mails: Mail[]; stop(): Promise<void> }> {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    logger: false,
    // Without a trusted certificate there is no STARTTLS.
    ...(smtp.tls === undefined ? { disabledCommands: ["STARTTLS"] } : {}),
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const [head = "", ...body] = Buffer.concat(chunks).toString("utf8").split("\r\n\r\n");
        mails.push({
          to: session.envelope.rcptTo.map(({ address }) => address),
          // Unfolds long header lines.
          text: [head.replaceAll(/\r\n[ \t]+/gu, " "), ...body].join("\r\n\r\n"),
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
  const mailServer: SmtpOptions = {
    host: "127.0.0.1",
    port: address.port,
    tls: "none",
    user: null,
    password: null,
    from: "alerts@returns.example",
    ...smtp,
  };
  return {
    push: { ...LOCAL_PUSH, smtp: mailServer },
    mails,
    stop: () => new Promise((done) => server.close(() => done())),
  };
}

/** The content of a mail of that type, decoded. */
export function mailPart({ text }: Mail, type: "text/plain" | "text/html"): string {
  const [, boundary = ""] = /boundary="([^"]+)"/u.exec(text) ?? [];
  const part = text.split(`--${boundary}`).find((each) => each.includes(`Content-Type: ${type}`)) ?? "";
  const content = part.slice(part.indexOf("\r\n\r\n") + 4);
  if (part.includes("base64")) return Buffer.from(content, "base64").toString("utf8");
  if (!part.includes("quoted-printable")) return content;
  const bytes = content
    .replaceAll("=\r\n", "")
    .replaceAll(/=([0-9A-F]{2})/gu, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString("utf8");
}
