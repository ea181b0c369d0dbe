import { readEnvelope, requireType, type Deadline } from "./answer.ts";
import type { FileExport } from "./result.ts";

/** Wraps an answer's body; `failure` converts the error of a broken read. */
export function readFile(
  response: Response,
  types: readonly string[],
  deadline: Deadline,
  failure: (error: unknown) => unknown,
): FileExport {
  requireType(response, types);
  deadline.pause();
  const stream = watched(response.body, deadline, failure);
  return {
    stream,
    text: () => new Response(stream).text(),
    filename: /filename="([^"]+)"/u.exec(response.headers.get("Content-Disposition") ?? "")?.[1] ?? null,
    ...readEnvelope(response.headers),
  };
}

/** The time restarts for each piece, and runs only while the reader waits: a slow reader is no failure. */
function watched(
  body: ReadableStream<Uint8Array> | null,
  deadline: Deadline,
  failure: (error: unknown) => unknown,
): ReadableStream<Uint8Array> {
  const reader = body?.getReader();
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        deadline.restart();
        try {
          const piece = await reader?.read();
          deadline.pause();
          if (piece?.value !== undefined) {
            controller.enqueue(piece.value);
            return;
          }
          deadline.end();
          controller.close();
        } catch (error) {
          deadline.end();
          controller.error(failure(error));
        }
      },
      cancel: async (reason) => {
        deadline.end();
        await reader?.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
