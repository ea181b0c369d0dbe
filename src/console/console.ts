import type { FastifyInstance } from "fastify";
import type { AdmitMember } from "../access/admit-member.ts";
import type { Operation } from "../access/operation.ts";
import { DEMO_PICTURES_ROUTE, demoPictures } from "../demo/pictures.ts";
import type { RouteGroup } from "../http/server.ts";
import { assetRoute } from "../http/assets.ts";
import { CONSOLE_ASSETS } from "./layout.ts";
import { createSessionPages } from "./session-routes.ts";
import { formScope } from "./form-scope.ts";
import { createMemberGuard, createActionRouter, createPageRouter } from "./router.ts";
import { operationByName } from "./page-call.ts";
import { createOauthRoutes } from "./oauth-routes.ts";
import { createPageSender } from "./page-send.ts";
import type { SessionOptions } from "./session-context.ts";

export type ConsoleOptions = SessionOptions & {
  operations: readonly Operation[];
  admitMember: AdmitMember;
};

const FORM_LIMIT_BYTES = 65_536;
/** Of an upload. */
const PART_LIMIT_BYTES = 4_194_304;

/** The pages of workspaces, and their assets. They run no queries and compute no figures: they call the API's operations. */
export function createConsole(options: ConsoleOptions): RouteGroup[] {
  const sessions = createSessionPages(options);
  const { done } = sessions;
  const shared = {
    guard: createMemberGuard({ ...options, sessions }),
    tools: {
      operationOf: operationByName(options.operations),
      control: options.control,
      site: options.site,
      now: options.now,
    },
    send: createPageSender(done),
  };
  const servePage = createPageRouter(shared);
  const actions = createActionRouter({ ...shared, done, sessions });
  return [
    {
      path: "/w/*",
      allowedMethods: "GET, HEAD, POST",
      register: (server: FastifyInstance): void => {
        server.get("/w/*", servePage);
        formScope(server, { formBytes: FORM_LIMIT_BYTES, partBytes: PART_LIMIT_BYTES }, (scope) => {
          scope.addHook("onRequest", actions.admit);
          scope.post("/w/*", actions.perform);
        });
      },
    },
    ...sessions.surfaces,
    ...createOauthRoutes(options),
    ...CONSOLE_ASSETS.all.map(assetRoute),
    pictureRoute(),
  ];
}

/**
 * The pictures of the demo store, all on one route: one for each would take a megabyte of every process, and a series of
 * metrics. Their names do not change when they are drawn in another way, so they are kept for a day.
 */
function pictureRoute(): RouteGroup {
  const bodies = demoPictures();
  return {
    path: DEMO_PICTURES_ROUTE,
    allowedMethods: "GET, HEAD",
    register: (server: FastifyInstance): void => {
      server.get(DEMO_PICTURES_ROUTE, (request, reply) => {
        const [address = ""] = (request.raw.url ?? "").split("?", 1);
        const body = bodies.get(address);
        if (body === undefined) return reply.callNotFound();
        return reply
          .type("image/svg+xml")
          .header("Content-Security-Policy", "default-src 'none'")
          .header("Cache-Control", "public, max-age=86400")
          .send(body);
      });
    },
  };
}
