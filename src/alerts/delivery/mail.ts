import { failed, type SendOutcome } from "./retry.ts";

/** The server that mail is handed to. */
export type SmtpOptions = {
  host: string;
  port: number;
  /** "implicit" from the first byte, "starttls" before anything is sent, "none" for a server on this machine. */
  tls: "implicit" | "starttls" | "none";
  user: string | null;
  password: string | null;
  /** The sender of every message. */
  from: string;
  /** An additional certificate authority. */
  ca?: string;
};

type MailMessage = {
  messageId: string;
  to: string;
  subject: string;
  text: string;
  html?: string;
  /** An https address that ends such mail for its recipient: by a POST of the mail program (RFC 8058), or on its page. */
  unsubscribe?: string;
};

const TIMEOUT_MS = 15_000;

type SmtpError = Error & { code?: string; responseCode?: number; response?: string; command?: string };

/** Hands one message to the server. Its refusal of the recipient or of the message with a 5xx is final. Never throws. */
export async function sendMail(message: MailMessage, smtp: SmtpOptions): Promise<SendOutcome> {
  // Imported here, because it takes memory that an installation without mail need not have.
  const { createTransport } = await import("nodemailer");
  const { host, port, tls, user, password, from, ca } = smtp;
  const transport = createTransport({
    host,
    port,
    secure: tls === "implicit",
    requireTLS: tls === "starttls",
    ignoreTLS: tls === "none",
    ...(ca === undefined ? {} : { tls: { ca } }),
    ...(user === null ? {} : { auth: { user, pass: password ?? "" } }),
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  try {
    await transport.sendMail({
      messageId: `<${message.messageId}@${from.split("@").at(-1)}>`,
      from,
      to: { name: "", address: message.to },
      subject: message.subject,
      text: message.text,
      ...(message.html === undefined ? {} : { html: message.html }),
      headers: { "Auto-Submitted": "auto-generated", ...unsubscribeHeaders(message) },
    });
    return { status: "delivered", answer: "The mail server accepted the message." };
  } catch (error) {
    return outcomeOf(error as SmtpError, smtp);
  } finally {
    transport.close();
  }
}

function unsubscribeHeaders({ unsubscribe }: MailMessage): Record<string, string> {
  if (unsubscribe === undefined) return {};
  return {
    "List-Unsubscribe": `<${unsubscribe}>`,
    "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
  };
}

function outcomeOf(
  { code = "", message, responseCode = 0, response = String(responseCode), command = "" }: SmtpError,
  { host, port }: SmtpOptions,
): SendOutcome {
  const isOfMessage = command.startsWith("RCPT") || command === "DATA";
  if (isOfMessage && responseCode >= 500)
    return {
      status: "refused",
      problem: `The mail server refused the recipient or the message (${oneLine(response)}).`,
    };
  if (responseCode > 0)
    return failed(
      `The mail server answered${command === "" ? "" : ` to ${command.split(" ")[0]}`}: ${oneLine(response)}.`,
    );
  return failed(
    `The mail server ${host}:${port} could not be used: ${oneLine(message)}${code === "" ? "" : ` (${code})`}.`,
  );
}

/** The server's or network's message for a list; it is untrusted text. */
function oneLine(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\s]+/gu, " ")
    .trim()
    .replace(/\.$/u, "")
    .slice(0, 200);
}
