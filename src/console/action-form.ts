import {
  runAction,
  type Action,
  type Done,
  type SurfaceCaller,
  type ActionTools,
} from "../actions/action.ts";
import { formInput, type Field, type Fields, type InputOf } from "../actions/field.ts";
import { Refusal } from "../actions/refusal.ts";
import { mayDo } from "../actions/right.ts";
import { html, type Html } from "../lib/html.ts";
import { parsedJson } from "../lib/parsed-json.ts";
import type { ActionCall, FormOutcome, PageCall, PageForm, PageParameters } from "./page.ts";
import {
  actionForm,
  areaField,
  boxes,
  filledIn,
  problemOf,
  refusal,
  selectField,
  textField,
  type ActionForm,
  type FormPlace,
} from "./views/form.ts";

type FormCaller = SurfaceCaller & Pick<ActionTools, "connecting">;

/**
 * Where the form of an action is sent to, and what follows on it. A segment of its path such as `:token_id` is the field of that
 * name.
 */
type FormTarget<Result> = Pick<PageForm, "path" | "isScript"> & {
  /** The texts of a field that the form does not send under the field's own name. */
  texts?: (name: string, form: URLSearchParams) => readonly string[] | undefined;
  /** Current values of the fields that would change: shown first if somebody else has saved others in the meantime. */
  current?: (call: ActionCall) => Current | Promise<Current>;
  /** By default the form's page is shown, with the action's sentence. */
  follow?: (done: Done<Result>, call: ActionCall) => FormOutcome | Promise<FormOutcome>;
  /** Outcome of a refusal for which the form is not shown again; undefined: it is. */
  instead?: (error: unknown, call: ActionCall) => FormOutcome | undefined;
};

/** An action as the console takes it: from a form, or from a script. */
export function formOf<Inputs extends Fields, Result>(
  action: Action<Inputs, Result, FormCaller>,
  { texts, current, follow, instead, ...place }: FormTarget<Result> = {},
): PageForm {
  return {
    ...place,
    name: action.name,
    right: action,
    ...(Object.values<Field<unknown>>(action.input).some(({ kind }) => kind === "bytes")
      ? { takes: "bytes" as const }
      : {}),
    perform: async (call) => {
      const textsOf = (name: string): readonly string[] => {
        const held = call.path[name];
        return texts?.(name, call.form) ?? (held === undefined ? call.form.getAll(name) : [held]);
      };
      const given = { ...formInput(textsOf), body: call.bytes };
      if (current !== undefined) requireUnchanged(action.input, await current(call), call.form.get(EARLIER));
      try {
        const caller = { ...(await call.caller()), consoleOrigin: () => call.origin };
        const done = await runAction(action, caller, given);
        return (await follow?.(done, call)) ?? { href: call.href(call.page.path), done: done.done };
      } catch (error) {
        const outcome = instead?.(error, call);
        if (outcome === undefined) throw error;
        return outcome;
      }
    },
  };
}

/** Name under which a form's button sends the fields' values at the time the page was made, see `earlierText`. */
export const EARLIER = "earlier";

export function earlierText(current: Current): string {
  return JSON.stringify(Object.values(current).map(String));
}

/** Current values of the fields that a form would change. */
export type Current = Readonly<Record<string, string | number>>;

function requireUnchanged(input: Fields, current: Current, earlier: string | null): void {
  if (earlier === null || earlier === earlierText(current)) return;
  const read = parsedJson(earlier);
  const before: unknown[] = Array.isArray(read) ? read : [];
  const changes = Object.entries(current)
    .filter(([, value], place) => before[place] !== String(value))
    .map(([name, value]) => {
      const { label = name, choices = [] } = input[name] ?? {};
      const text = choices.find(([each]) => each === value)?.[1] ?? value;
      return `${label} is now ${text === "" ? "empty" : text}`;
    });
  throw new Refusal(
    "impossible",
    `Somebody saved other settings after you opened this page: ${changes.join(", ")}. Yours were not saved. Save again to replace them.`,
  );
}

/** The parts of an action that a form uses, without its function. */
type AnyAction = Pick<Action, "name" | "title" | "least" | "input">;

/** Further parts of a form, besides the action's fields. */
type FormLook = {
  /** "quiet": one of many, such as a row's; "danger": it takes something away. */
  variant?: "quiet" | "danger";
  /** The initial value of a field, of boxes those that are ticked; a field that is `kept` is sent hidden. */
  values?: Readonly<Record<string, string | readonly string[]>>;
  kept?: PageParameters;
  /** Fields that the page draws itself, by name. */
  drawn?: Readonly<Record<string, Html | null>>;
  /** As `current` of its place: sent along. */
  current?: Current;
  /** false: only the reason of the last refusal is shown. */
  isOffered?: boolean;
  /** The button's label if the action's title does not name its object. */
  button?: string;
  /** The question shown before the button appears. */
  question?: string | null;
};

/** The form of an action, with why it was refused; null for members without the right, unless it was refused just now. */
export function formFor(call: PageCall, action: AnyAction, form: FormLook = {}): Html | null {
  const why = refusal(call, action.name);
  if (form.isOffered === false || !mayDo(call.role, action)) return why;
  const { variant, values = {}, drawn = {}, button = action.title, question = null } = form;
  const kept = { ...form.kept, ...(form.current && { [EARLIER]: earlierText(form.current) }) };
  const shown = Object.entries(action.input).map(([name, field]) =>
    name in drawn
      ? drawn[name]
      : name in kept || field.only === "command"
        ? null
        : drawField(call, action.name, name, field, values[name]),
  );
  return html`${why}${actionForm(
    call,
    {
      path: pathOf(call, action),
      button,
      kept,
      question,
      isAnswered: why !== null,
      ...(variant === undefined ? {} : { variant }),
    },
    shown.filter((each) => each !== null && each !== undefined),
  )}`;
}

/** A form without the action's own fields, such as the button of a row; why it was refused is above the rows. */
export function buttonFor(
  call: PageCall,
  action: Pick<AnyAction, "name" | "title">,
  { button = action.title, ...form }: Partial<Omit<ActionForm, "path">> = {},
  fields: readonly Html[] = [],
): Html {
  return actionForm(call, { path: pathOf(call, action), button, ...form }, fields);
}

function pathOf({ page }: PageCall, { name }: { name: string }): string {
  const form = page.forms.find((each) => each.name === name);
  if (form === undefined) throw new Error(`the page ${page.name} has no form ${name}`);
  return form.path;
}

/** The confirmation question of an action; null: none. */
export function questionOf<Inputs extends Fields>(
  { shopDomain }: PageCall,
  action: Pick<Action<Inputs>, "confirm">,
  input: InputOf<Inputs>,
): string | null {
  return action.confirm?.(input, { workspace: { shop_domain: shopDomain } }) ?? null;
}

export function drawField(
  call: FormPlace,
  action: string,
  name: string,
  field: Field<unknown>,
  value: string | readonly string[] | undefined,
): Html | null {
  const { label, hint, kind, choices = [], isOptional = false } = field;
  const labelled = {
    name,
    label,
    isRequired: !isOptional,
    ...(typeof value === "string" ? { value } : {}),
    ...(hint === undefined ? {} : { hint }),
  };
  switch (kind) {
    case "hidden":
    case "bytes":
      return null;
    case "choice":
      return selectField(call, action, { ...labelled, options: choices });
    case "choices":
      return boxes(
        call,
        action,
        { name, legend: label },
        choices.map(([each, text]) =>
          checkBox(call, action, name, {
            value: each,
            text,
            isChosen: typeof value !== "string" && value?.includes(each) === true,
          }),
        ),
      );
    case "flag":
      return checkBox(call, action, name, { value: "yes", text: label, isChosen: value === "yes" });
    case "lines":
      return areaField(call, action, labelled);
    default:
      return textField(call, action, { ...labelled, type: kind === "day" ? "date" : kind });
  }
}

/** A checkbox of a field with several possible values; a refused form keeps its state. */
export function checkBox(
  call: FormPlace,
  action: string,
  name: string,
  { value, text, isChosen = false }: { value: string; text: Html | string; isChosen?: boolean },
): Html {
  const { refusedForm } = call;
  const isWrong = problemOf(call, action, name) !== null;
  const isTicked =
    refusedForm?.action === action ? refusedForm.values.getAll(name).includes(value) : isChosen;
  return html`<label class="check"
    ><input type="checkbox" name="${name}" value="${value}" ${isTicked && html` checked=""`}${isWrong && html` aria-invalid="true"`} /> ${text}</label
  >`;
}

type Radios = {
  legend: string;
  choices: readonly (readonly [value: string, text: Html | string])[];
  value: string;
};

/** One of a few values, each with its words in sight. */
export function radios(
  call: FormPlace,
  action: string,
  name: string,
  { legend, choices, value }: Radios,
): Html {
  const chosen = filledIn(call, action, name, value);
  return boxes(
    call,
    action,
    { name, legend, isOne: true },
    choices.map(
      ([each, text]) =>
        html`<label class="check"
          ><input type="radio" name="${name}" value="${each}" ${each === chosen && html` checked=""`} /> ${text}</label
        >`,
    ),
  );
}
