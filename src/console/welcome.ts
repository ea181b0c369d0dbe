import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ControlTools } from "../control/acting.ts";
import type { Actor } from "../control/actor.ts";
import { Refusal } from "../control/refusal.ts";
import { createWorkspace } from "../control/workspace.ts";
import { noteRefusal } from "../http/request-log.ts";
import type { Surface } from "../http/server.ts";
import type { Identity } from "../identity/identity.ts";
import { formOf, STATUS } from "./action-outcome.ts";
import type { DoneCookie } from "./done-cookie.ts";
import type { Entrance } from "./entrance.ts";
import { formScope } from "./form-scope.ts";
import { createMinuteLimit } from "./minute-limit.ts";
import { addressOf } from "./page-call.ts";
import type { RefusedForm } from "./page.ts";
import { sendHtml, stateMarkup } from "./send.ts";
import { IMPORTS_PATH, sourcePath } from "./settings/source-paths.ts";
import { sendState } from "./page-send.ts";
import { forbidden, tooMany } from "./state-page.ts";
import { CREATE, welcome } from "./views/welcome.ts";

export type WelcomeOptions = {
  identity: Identity;
  entrance: Pick<Entrance, "guard" | "sessionHashOf" | "toSignIn">;
  control: ControlTools;
  done: DoneCookie;
  now: () => Date;
};

type Person = NonNullable<Awaited<ReturnType<Identity["readSession"]>>>;

const PATH = "/welcome";
const FORM_LIMIT_BYTES = 2048;
/** Of one person. */
const MOST_FORMS_PER_MINUTE = 60;

/** Where each way on begins, in a new workspace. */
const WAYS: Readonly<Record<string, string>> = {
  shopify: sourcePath("shopify", "/connect"),
  csv: IMPORTS_PATH,
};

/** The page of somebody who has no workspace yet, or wants one more: operators make it there, and become its owner. */
export function createWelcome(options: WelcomeOptions): Surface {
  const { entrance } = options;
  const admits = createMinuteLimit(MOST_FORMS_PER_MINUTE);
  return {
    path: PATH,
    allowedMethods: "GET, HEAD, POST",
    register: (server: FastifyInstance): void => {
      formScope(server, { formBytes: FORM_LIMIT_BYTES, partBytes: null }, (scope) => {
        scope.addHook("onRequest", (request, reply, done) => {
          if (entrance.guard(request, reply) === null) done();
        });
        scope.get(PATH, async (request, reply) => {
          const person = await readPerson(options, request);
          if (person === null) return entrance.toSignIn(request, reply);
          return show(options, { request, reply, person, status: 200, refusedForm: null });
        });
        scope.post(PATH, async (request, reply) => {
          const person = await readPerson(options, request);
          if (person === null) return entrance.toSignIn(request, reply);
          if (!admits(person.userId, options.now())) return sendState({ request, reply }, TOO_MANY, null);
          return create(options, { request, reply, person });
        });
      });
    },
  };
}

const TOO_MANY = tooMany(
  `You have sent more than ${MOST_FORMS_PER_MINUTE} forms within a minute. Wait a minute, then go on.`,
  60,
);

async function readPerson({ identity, entrance }: WelcomeOptions, request: FastifyRequest) {
  const sessionHash = entrance.sessionHashOf(request);
  const person = sessionHash === null ? null : await identity.readSession(sessionHash);
  if (person !== null) request.log = request.log.child({ user_id: person.userId });
  return person;
}

type Asked = { request: FastifyRequest; reply: FastifyReply; person: Person };

/** Makes the workspace, and leads to the way on that was chosen. */
async function create({ control, done, ...options }: WelcomeOptions, asked: Asked): Promise<FastifyReply> {
  const { request, reply, person } = asked;
  const form = formOf(request);
  const actor: Actor = {
    name: `user:${person.userId}`,
    origin: request.ip,
    // A person without a role in any workspace is no more than a viewer of none.
    standing: person.isOperator ? "operator" : "viewer",
    isFresh: false,
  };
  try {
    const { shop_domain: domain } = await createWorkspace(control.database, actor, {
      domain: form.get("domain") ?? "",
      currency: form.get("currency") ?? "",
      ownerId: person.userId,
    });
    const way = WAYS[form.get("way") ?? ""] ?? "";
    reply.header("Set-Cookie", done.write(`The workspace ${domain} is made, and you are its owner.`));
    return await reply.redirect(addressOf(domain, way), 303);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    noteRefusal(request, error.message);
    if (error.kind === "forbidden") return sendState({ request, reply }, forbidden(error.message), null);
    const refusedForm = { action: CREATE, values: form, refusal: error };
    return show({ control, done, ...options }, { ...asked, status: STATUS[error.kind], refusedForm });
  }
}

async function show(
  { identity }: WelcomeOptions,
  shown: Asked & { status: number; refusedForm: RefusedForm | null },
): Promise<FastifyReply> {
  const { request, reply, person, status, refusedForm } = shown;
  const memberships = await identity.workspacesOf(person.userId);
  const body = welcome(
    { memberships, isOperator: person.isOperator },
    { refusedForm, problems: [], href: () => PATH },
  );
  const frame = { scripts: [], userName: person.name, workspace: null };
  return sendHtml(request, reply, status, stateMarkup(reply, { status, title: "Welcome", body }, frame));
}
