import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { AdmitMember } from "../admission/admit-member.ts";
import type { Operation } from "../admission/operation.ts";
import type { Surface } from "../http/server.ts";
import type { Asset } from "./assets.ts";
import { readConsoleAssets } from "./console-assets.ts";
import { createPageLoop } from "./page-loop.ts";
import { acceptsGzip } from "./send.ts";

export type ConsoleOptions = {
  operations: readonly Operation[];
  admitMember: AdmitMember;
  /** SHA-256 of the session cookie; null = there is none. */
  sessionHashOf: (request: FastifyRequest) => Buffer | null;
  /** Sets the headers of every page, or answers a request that came by a name the console does not serve. */
  guard: (request: FastifyRequest, reply: FastifyReply) => FastifyReply | null;
  /** Where callers of the API reach the service, such as https://returns.example. */
  apiAddress: (request: FastifyRequest) => string;
};

/** The pages of workspaces, and what they load. They neither query nor count: they call the API's operations. */
export function createConsole(options: ConsoleOptions): Surface[] {
  const assets = readConsoleAssets();
  const serve = createPageLoop(options, assets);
  return [
    {
      path: "/w/*",
      allowedMethods: "GET, HEAD",
      register: (server: FastifyInstance): void => {
        server.get("/w/*", serve);
      },
    },
    ...assets.all.map(assetSurface),
  ];
}

function assetSurface({ path, type, body, gzipped }: Asset): Surface {
  return {
    path,
    allowedMethods: "GET, HEAD",
    register: (server: FastifyInstance): void => {
      server.get(path, (request, reply) => {
        const isGzipped = acceptsGzip(request);
        if (isGzipped) reply.header("Content-Encoding", "gzip");
        return reply
          .type(type)
          .header("Vary", "Accept-Encoding")
          .header("Cache-Control", "public, max-age=31536000, immutable")
          .send(isGzipped ? gzipped : body);
      });
    },
  };
}
