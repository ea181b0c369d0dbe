import type { FastifyReply } from "fastify";
import {
  APP_SCHEMES,
  hasRedirect,
  isClientAddress,
  OAUTH_PATHS,
  OauthError,
  readClientId,
  readDescription,
  type OauthClient,
} from "../../access/oauth.ts";
import type { Membership } from "../../access/identity.ts";
import { hashOf } from "../../access/secret.ts";
import { isFreshProof } from "../../access/session.ts";
import { fetchJson, type PostOptions } from "../../alerts/delivery/post.ts";
import { drawField, radios } from "../../console/action-form.ts";
import { contentSecurityPolicy } from "../../console/request-rules.ts";
import { LONGEST_TARGET } from "../../console/cookies.ts";
import { formOf } from "../../console/form-scope.ts";
import { createMinuteLimit } from "../../console/minute-limit.ts";
import { actorOf } from "../../console/page-call.ts";
import {
  formPlace,
  forSender,
  showOwn,
  showState,
  type OwnRequest,
  type Routes,
  type SessionContext,
  type Visitor,
} from "../../console/session-context.ts";
import { decodeSegment } from "../../console/route.ts";
import { statePage, type StatePage } from "../../console/state-page.ts";
import { fact, facts } from "../../console/views/blocks.ts";
import { refusal, textField, type FormPlace } from "../../console/views/form.ts";
import { SCOPES, type Scope } from "../../contract/endpoint.ts";
import { mcpAddress } from "../../contract/written-request.ts";
import { html, type Html } from "../../lib/html.ts";
import { keyFor } from "../../lib/keys.ts";
import { isLoopbackHost } from "../../lib/networks.ts";
import { findMember } from "../../store/queries/workspace-member.ts";
import { runAction } from "../action.ts";
import { oauthIssuer } from "../console-address.ts";
import { textInput, type Field } from "../field.ts";
import { invalid, type Refusal } from "../refusal.ts";
import { mayDo, SenderGone } from "../right.ts";
import { requireWorkspace } from "../workspace/workspace.ts";
import { connectApp, receiverOf, type AppRequest } from "./actions.ts";

const PATH = OAUTH_PATHS.authorize;

/** A valid request to show to a person; `query`: its parameters. */
type Asked = AppRequest & {
  query: string;
  state: string | null;
  scopes: readonly Scope[];
  /** The host that the app's description is at; null = it registered here. */
  describedAt: string | null;
};

/** Where an app asks a person for access, and they allow or deny it. */
export function consentRoutes(context: SessionContext): Routes {
  const { control, now } = context;
  const issuer = oauthIssuer(control.connecting.publicUrl);
  if (issuer === null) return {};
  const readClient = createClientReader(control.push, keyFor("apps", control.keys), now);
  const read = async (query: string, visitor: Visitor | null): Promise<Asked | OauthError> => {
    try {
      return await readRequest(query, { issuer, readClient, userId: visitor?.person.userId ?? null });
    } catch (error) {
      if (error instanceof OauthError) return error;
      throw error;
    }
  };
  return {
    [PATH]: {
      get: async (request, reply) => {
        const visitor = await context.signedIn(request);
        const asked = await read((request.raw.url ?? "").split("?").slice(1).join("?"), visitor);
        if (asked instanceof OauthError) return showState(reply, notAsked(asked.message));
        if (visitor === null) return context.toSignIn(request, reply);
        if (!isFreshProof(visitor.person.authenticatedAt, now()))
          return reply.redirect(confirmationOf(asked), 303);
        return show(context, { request, reply, visitor }, asked);
      },
      post: async (request, reply) => {
        const form = formOf(request);
        const visitor = await context.signedIn(request);
        const asked = await read(form.get("request") ?? "", visitor);
        if (asked instanceof OauthError) return showState(reply, notAsked(asked.message));
        const toStart = () => reply.redirect(`${PATH}?${asked.query}`, 303);
        const send = forSender(
          { ...context, signedIn: () => Promise.resolve(visitor), toSignIn: toStart },
          async (own) => {
            if (form.get("decision") !== "allow")
              return lead(reply, asked, { error: "access_denied" }, issuer);
            return lead(reply, asked, { code: await consent(context, own, asked) }, issuer);
          },
          (own, refused) =>
            refused.kind === "unconfirmed"
              ? reply.redirect(confirmationOf(asked), 303)
              : show(context, own, asked, refused),
        );
        return send(request, reply);
      },
    },
  };
}

type OwnServer = { issuer: string; readClient: ClientReader; userId: string | null };

const wrong = (sentence: string) => new OauthError("invalid_request", sentence);

/**
 * Reads a request. Throws errors for a page: anybody can register an address, so redirecting a browser there before the person has
 * decided would be an open redirect (RFC 9700, 4.11).
 */
async function readRequest(query: string, { issuer, readClient, userId }: OwnServer): Promise<Asked> {
  const given = new URLSearchParams(query);
  // Re-encoded, because it becomes part of addresses, such as that of the page to confirm an identity.
  const encoded = given.toString();
  if (Math.max(query.length, encoded.length) > LONGEST_TARGET - PATH.length - 1)
    throw wrong("Its request is too long.");
  const twice = [...given.keys()].find((name) => given.getAll(name).length > 1);
  if (twice !== undefined) throw wrong(`Its request names ${twice} twice.`);
  const clientId = given.get("client_id") ?? "";
  const client = await readClient(clientId, userId);
  const redirectUri = given.get("redirect_uri") ?? "";
  if (client !== null && !hasRedirect(client, redirectUri))
    throw wrong("It has not registered this redirect address (redirect_uri).");
  if (given.get("response_type") !== "code") throw wrong("It must request a code (response_type).");
  const codeChallenge = given.get("code_challenge") ?? "";
  if (given.get("code_challenge_method") !== "S256" || !/^[\w-]{43}$/u.test(codeChallenge))
    throw wrong("It must use PKCE with S256 (code_challenge).");
  if ((given.get("resource") ?? mcpAddress(issuer)) !== mcpAddress(issuer))
    throw wrong(`It requests a service other than ${mcpAddress(issuer)} (resource).`);
  const named = (given.get("scope") ?? "").split(" ");
  const known = SCOPES.filter((scope) => named.includes(scope));
  return {
    query: encoded,
    clientHash: hashOf(clientId),
    name: client?.name ?? "",
    describedAt: isClientAddress(clientId) ? new URL(clientId).host : null,
    redirectUri,
    codeChallenge,
    state: given.get("state"),
    // Some clients request only OpenID scopes: the person chooses.
    scopes: known.length === 0 ? SCOPES : known,
  };
}

/** The client of an id; null = it describes itself, and nobody is signed in who may have that read. Throws `OauthError`. */
export type ClientReader = (clientId: string, userId: string | null) => Promise<OauthClient | null>;

const MOST_BYTES = 10_240;
const TIMEOUT_MS = 5000;
/** As long as somebody takes to decide, and no longer: a description may change. */
const REMEMBER_MS = 5 * 60_000;
const MOST_REMEMBERED = 100;
/** For one person. */
const MOST_READ_PER_MINUTE = 20;

/** Reads clients that registered here, and those that describe themselves at an address, which is fetched as alerts are sent. */
export function createClientReader(push: PostOptions, key: Buffer, now: () => Date): ClientReader {
  const remembered = new Map<string, { client: OauthClient; until: number }>();
  const admits = createMinuteLimit(MOST_READ_PER_MINUTE);
  return async (clientId, userId) => {
    if (!isClientAddress(clientId)) {
      const client = readClientId(clientId, key);
      if (client !== null) return client;
      throw wrong("It is not registered here (client_id).");
    }
    if (userId === null) return null;
    const at = now().getTime();
    const known = remembered.get(clientId);
    if (known !== undefined && known.until > at) return known.client;
    if (!admits(userId, now())) throw wrong("Too many apps were tried: wait a minute.");
    const fetched = await fetchJson(clientId, MOST_BYTES, { ...push, timeoutMs: TIMEOUT_MS });
    if ("problem" in fetched)
      throw wrong(`Its description could not be read (client_id): ${fetched.problem}`);
    const client = readDescription(clientId, fetched.value);
    if (remembered.size >= MOST_REMEMBERED) remembered.clear();
    remembered.set(clientId, { client, until: at + REMEMBER_MS });
    return client;
  };
}

function notAsked(problem: string): StatePage {
  return statePage(
    400,
    "This app cannot connect",
    html`<p role="alert">${problem} Add the connection in the app again; if that does not help, tell its developer.</p>
      <p><a href="/docs/mcp">How apps connect</a></p>`,
  );
}

function confirmationOf({ query }: Asked): string {
  return `/confirm?next=${encodeURIComponent(`${PATH}?${query}`)}`;
}

/** Leads the browser to the app's own address, now that its person has decided. */
function lead(
  reply: FastifyReply,
  { redirectUri, state }: Asked,
  answer: Readonly<Record<string, string>>,
  issuer: string,
): FastifyReply {
  const target = new URL(redirectUri);
  for (const [name, value] of Object.entries({ ...answer, iss: issuer }))
    target.searchParams.set(name, value);
  if (state !== null) target.searchParams.set("state", state);
  return reply.redirect(target.href, 303);
}

/** Runs the action in the workspace that was chosen; returns the code. */
async function consent(
  context: SessionContext,
  { request, visitor }: OwnRequest,
  asked: Asked,
): Promise<string> {
  const { control } = context;
  const now = context.now();
  const { sessionHash } = visitor;
  const form = formOf(request);
  const shopDomain = decodeSegment(encodeURIComponent(form.get("workspace") ?? ""));
  const member = await findMember(control.database, { sessionHash, shopDomain }, null);
  if (member === "signed_out") throw new SenderGone("signed_out");
  if (member.role === null)
    throw invalid("Workspace: choose one of those that you are a member of.", "workspace");
  const actor = actorOf(member, sessionHash, member.role, request, now);
  const workspace = await requireWorkspace(control.database, shopDomain);
  const caller = { ...control, actor, workspace, now, app: asked };
  const scopes = form.getAll("scopes").filter((scope) => asked.scopes.some((each) => each === scope));
  const { secret } = await runAction(connectApp, caller, { ...textInput({ scopes }), isForm: true });
  return secret?.reveal() ?? "";
}

async function show(
  context: SessionContext,
  own: OwnRequest,
  asked: Asked,
  refused?: Refusal,
): Promise<FastifyReply> {
  const { request, reply, visitor } = own;
  const { userId, name: userName } = visitor.person;
  const { workspaces, isMore } = await context.identity.workspacesOf(userId, { search: "", after: "" });
  const allowed = workspaces.filter(({ role }) => mayDo(role, connectApp));
  const form = refused && { action: connectApp, refused };
  const place = formPlace(request, () => `${PATH}?${asked.query}`, form);
  const { name } = asked;
  // Chromium holds the policy against every redirect that follows the form, and an app's own address may lead on: to another
  // host of its maker, or to a program.
  const formTargets = new Set(["https:", "http:", ...APP_SCHEMES, new URL(asked.redirectUri).protocol]);
  reply.header("Content-Security-Policy", contentSecurityPolicy([], [...formTargets]));
  const mayAllow = allowed.length > 0 || isMore;
  const body = html`<article class="state">
    <h1>Connect “${name}”?</h1>
    ${refusal(place, connectApp.name)}
    <p>
      An app that calls itself “${name}” asks to read data. This service has not checked who made it: continue only
      if you have just started this yourself.
    </p>
    ${facts([
      fact("The response goes to", html`<strong>${receiverOf(asked.redirectUri)}</strong>`, placeNote(asked)),
      asked.describedAt !== null &&
        fact("The app's description is at", html`<strong>${asked.describedAt}</strong>`),
      fact("You are signed in as", userName),
    ])}
    <form method="post" action="${PATH}">
      <input type="hidden" name="request" value="${asked.query}" />
      ${mayAllow ? html`${workspaceField(place, allowed, isMore)} ${scopeField(place, asked)} ${TERMS}` : whomToAsk(workspaces)}
      <p class="actions">
        ${mayAllow && html`<button name="decision" value="allow">${connectApp.title}</button>`}
        <button class="quiet" name="decision" value="deny">${mayAllow ? "Deny" : "Go back to the app"}</button>
      </p>
    </form>
  </article>`;
  return showOwn(context, own, { title: `Connect ${name}`, body, refused });
}

const TERMS = html`<p>
  It cannot change anything. Its requests count towards the workspace's daily quota. Owners and admins see it under Settings,
  Tokens, and can end its access there at any time; it also ends after 30 days without use, after a year, or when you are no
  longer an owner or admin.
</p>`;

function placeNote({ redirectUri }: Asked): string | null {
  const { protocol, hostname } = new URL(redirectUri);
  if (isLoopbackHost(hostname)) return "a program on your own computer";
  return protocol === "https:" ? null : "a program installed on your device";
}

/** Nothing is preselected for a person with several workspaces. */
function workspaceField(place: FormPlace, allowed: readonly Membership[], isMore: boolean): Html {
  const label = "Workspace";
  const hint = "The domain of one that you are an owner or admin of.";
  if (isMore) return textField(place, connectApp.name, { name: "workspace", label, hint });
  return radios(place, connectApp.name, "workspace", {
    legend: label,
    choices: allowed.map(({ shop_domain: domain, display_name: name }) => [
      domain,
      html`${name} ${name !== domain && html`<small>${domain}</small>`}`,
    ]),
    value: allowed.length === 1 ? (allowed[0]?.shop_domain ?? "") : "",
    isRequired: true,
  });
}

function scopeField(place: FormPlace, { scopes }: Asked): Html | null {
  const field: Field<unknown> = connectApp.input.scopes;
  const choices = (field.choices ?? []).filter(([each]) => scopes.some((scope) => scope === each));
  return drawField(place, connectApp.name, "scopes", { ...field, choices }, scopes.join(","));
}

function whomToAsk(workspaces: readonly Membership[]): Html {
  if (workspaces.length === 0)
    return html`<p>You are not a member of a workspace, so there is nothing to connect it to.</p>`;
  return html`<p>Only an owner or admin can connect an app. You are a viewer: ask an owner or admin of the workspace to connect it.</p>
    <ul>
      ${workspaces.map(({ display_name: name, shop_domain: domain }) => html`<li>${name} ${name !== domain && html`<small>${domain}</small>`}</li>`)}
    </ul>`;
}
