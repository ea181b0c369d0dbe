import type { Form } from "./option-forms.ts";

/** An option of the environment. `help` is Markdown: --help and the table in docs/operating/configure.md are made from it. */
export type Option<Value, Fallback> = OptionDetail & {
  name: string;
  form: Form<Value>;
  fallback: Fallback;
  help: string;
};

type OptionDetail = {
  /** What help shows as the default; else the fallback itself. */
  defaultText?: string;
  /** Its value may also come from the file that NAME_FILE names. */
  hasFile?: boolean;
};

export function option<Value, Fallback extends Value | null>(
  name: string,
  form: Form<Value>,
  fallback: Fallback,
  help: string,
  detail: OptionDetail = {},
): Option<Value, Fallback> {
  return { name, form, fallback, help, ...detail };
}
