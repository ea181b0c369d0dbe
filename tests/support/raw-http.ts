import { connect, type Socket } from "node:net";

/** What a server sent on a connection, unchanged. */
export type RawAnswer = { status: number; headers: string; body: string };

/** One connection, for requests that no HTTP client would send. */
export type RawConnection = {
  socket: Socket;
  send: (text: string) => void;
  /** The next whole answer; rejects when the connection ends before. */
  answer: () => Promise<RawAnswer>;
  close: () => void;
};

export async function openRaw(address: string): Promise<RawConnection> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  let text = "";
  let isClosed = false;
  let wake = (): void => {};
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
    wake();
  });
  // A server that stops reading resets a connection that keeps sending.
  socket.on("error", () => {});
  socket.on("close", () => {
    isClosed = true;
    wake();
  });
  await new Promise<void>((resolve) => {
    socket.once("connect", resolve);
  });
  return {
    socket,
    send: (part) => void socket.write(part),
    answer: async () => {
      for (;;) {
        const whole = cutAnswer(text);
        if (whole !== null) {
          text = whole.rest;
          return whole.answer;
        }
        if (isClosed) throw new Error(`the connection ended after ${JSON.stringify(text)}`);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    close: () => socket.destroy(),
  };
}

/** The first complete answer received, or null if none is complete; answers have a Content-Length. */
function cutAnswer(text: string): { answer: RawAnswer; rest: string } | null {
  const end = text.indexOf("\r\n\r\n");
  if (end === -1) return null;
  const headers = text.slice(0, end).toLowerCase();
  const length = Number(/content-length: (\d+)/u.exec(headers)?.[1] ?? 0);
  const body = text.slice(end + 4, end + 4 + length);
  if (body.length < length) return null;
  const answer = { status: Number(headers.split(" ", 2)[1]), headers, body };
  return { answer, rest: text.slice(end + 4 + length) };
}
