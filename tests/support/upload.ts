import type { FolderFiles } from "./import-workspace.ts";

/** Who sends an upload, and to which server. */
export type Sender = { address: string; cookie: string; shopDomain: string };

export type UploadClient = ReturnType<typeof uploadClient>;

/** The same as in import-upload.ts. */
export const PART_BYTES = 4 * 1024 * 1024;

const IMPORTS = "/settings/imports";

/** Sends files as the page's script does, unless told otherwise; `headers` replace its own. */
export function uploadClient(sender: Sender, headers: Record<string, string> = {}) {
  const base = `${sender.address}/w/${sender.shopDomain}${IMPORTS}`;
  const post = (path: string, body: URLSearchParams | Buffer, type: Record<string, string> = {}) =>
    fetch(`${base}${path}`, {
      method: "POST",
      redirect: "manual",
      headers: {
        cookie: sender.cookie,
        origin: sender.address,
        "sec-fetch-site": "same-origin",
        ...type,
        ...headers,
      },
      body: body instanceof Buffer ? new Uint8Array(body) : body,
    });
  const start = (files: readonly (readonly [name: string, bytes: number | string])[], lastDay = "") => {
    const fields = new URLSearchParams({ last_day: lastDay });
    for (const [name, bytes] of files) {
      fields.append("file", name);
      fields.append("bytes", String(bytes));
    }
    return post("", fields);
  };
  const part = (id: string, name: string, number: number | string, bytes: Buffer) =>
    post(`/${id}/parts/${encodeURIComponent(name)}/${number}`, bytes, {
      "content-type": "application/octet-stream",
    });
  const request = (id: string, fields: Record<string, string> = {}) =>
    post(`/${id}/import`, new URLSearchParams(fields));
  return {
    start,
    part,
    request,
    parts: (id: string) => post(`/${id}/parts`, new URLSearchParams()),
    replace: (id: string, file: string, bytes: number) =>
      post(`/${id}/files`, new URLSearchParams({ file, bytes: String(bytes) })),
    cancel: (id: string) => post(`/${id}/cancel`, new URLSearchParams()),
    refusedRows: (id: string) => post(`/${id}/refused-rows`, new URLSearchParams()),
    page: (id = "") =>
      fetch(`${base}${id === "" ? "" : `/${id}`}`, {
        headers: { cookie: sender.cookie },
        redirect: "manual",
      }),
    /** Sends a whole folder and asks for its import; returns the upload's id. */
    send: async (files: FolderFiles, lastDay = ""): Promise<string> => {
      const bodies = Object.entries(files).map(([name, body]) => [name, Buffer.from(body)] as const);
      const id = await idOf(
        await start(
          bodies.map(([name, body]) => [name, body.length]),
          lastDay,
        ),
      );
      for (const [name, body] of bodies) {
        for (const [number, bytes] of partsOf(body).entries()) await expectOk(part(id, name, number, bytes));
      }
      const asked = await request(id);
      if (asked.status !== 303) throw new Error(`the import was refused: ${await asked.text()}`);
      return id;
    },
  };
}

/** The parts of a file. */
export function partsOf(body: Buffer): Buffer[] {
  return Array.from({ length: Math.ceil(body.length / PART_BYTES) }, (_, part) =>
    body.subarray(part * PART_BYTES, (part + 1) * PART_BYTES),
  );
}

export async function idOf(started: Response): Promise<string> {
  await expectOk(started);
  const { href } = (await started.json()) as { href: string };
  return href.slice(href.lastIndexOf("/") + 1);
}

export async function expectOk(answering: Response | Promise<Response>): Promise<void> {
  const answer = await answering;
  if (answer.status !== 200) throw new Error(`answered ${answer.status}: ${await answer.clone().text()}`);
}
