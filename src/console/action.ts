import type { Right } from "../actions/right.ts";
import type { Readable } from "node:stream";
import type { Page, PageCall, View } from "./page.ts";

/** What an action is given beside what its page is given. */
export type ActionCall = PageCall & {
  /** The fields of the form; empty when bytes were sent. */
  form: URLSearchParams;
  /** The body, where the action takes bytes. */
  bytes: Buffer;
};

/** What follows on an action. */
export type FormOutcome =
  /** The page at `href` is shown next, with a sentence of what counts from now on. */
  | { href: string; done: string }
  /** Shown this once, such as a new token. */
  | { view: View }
  | { file: { name: string; type: string; body: Readable | string } }
  /** For a script of the console. */
  | { json: unknown };

/** One POST under /w/<shop_domain>; the registry lists them, and one router performs them. */
export type FormAction = {
  /** For logs and metrics, and for the form that sends it. */
  name: string;
  /** Below /w/<shop_domain>; it may hold segments such as `:id`. */
  path: string;
  /** The use case checks it again. */
  right: Right;
  /** The page of its form, which is shown again with a refusal; null = a script asks, and gets it as JSON. */
  page: Page | null;
  /** What its body is; a form unless stated otherwise. */
  takes?: "bytes";
  /** Calls a use case of `control`. Throws its `Refusal`. */
  perform: (call: ActionCall) => Promise<FormOutcome>;
};
