import assert from "node:assert/strict";
import { test } from "node:test";
import type { Command } from "commander";
import { runCommand } from "../../tests/support/command.ts";
import { serviceEnvironment } from "../../tests/support/service.ts";
import { service } from "../../tests/support/shared-service.ts";
import { createTenant } from "../../tests/support/tenants.ts";
import { wrongFor } from "../../tests/support/wrong-values.ts";
import type { Field, Fields } from "../actions/field.ts";
import { ACTIONS } from "../actions/registry.ts";
import type { NamedRight } from "../actions/right.ts";
import { createProgram } from "./program.ts";

const { shopDomain } = await createTenant(service.database);
const environment = serviceEnvironment(service.databaseUrl);

const inputs = new Map(
  ACTIONS.map((action): [string, Fields] => [
    action.name.replaceAll("_", "-"),
    (action as NamedRight & { input?: Fields }).input ?? {},
  ]),
);

const leavesOf = (command: Command): Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);

test("every command of an action refuses all bad fields at once, each by its option and in the action's words", async () => {
  const proven: string[] = [];
  for (const command of leavesOf(await createProgram({ environment: {} }, []))) {
    const path = [command.parent?.name() ?? "", command.name()];
    const fields = Object.entries(inputs.get(path.join(".")) ?? {}).filter(([, { only }]) => only !== "form");
    // Whom a command means is asked for first.
    if (fields.length === 0 || fields.some(([name]) => name === "person")) continue;
    const { words, sentences } = refusedBy(command, fields);
    if (sentences.length === 0) continue;
    const of = command.options.some(({ long }) => long === "--workspace") ? ["--workspace", shopDomain] : [];
    const { code, stdout, stderr } = await runCommand([...path, ...words, ...of], environment);
    assert.deepEqual([code, stdout, stderr], [2, "", `${sentences.join(" ")}\n`], path.join(" "));
    proven.push(path.join(" "));
  }
  assert.ok(proven.length >= 10, proven.join(", "));
});

/** Its line with every field wrong that can be, and what it says of them. */
function refusedBy(command: Command, fields: readonly [string, Field<unknown>][]) {
  const places = command.registeredArguments.map((argument) => argument.name());
  const given = fields.map(([name, field]) => {
    const dashed = name.replaceAll("_", "-");
    const option = `--${(field.option ?? name).replaceAll("_", "-")}`;
    const isOption = command.options.some(({ long }) => long === option);
    const subject = places.includes(dashed) ? `<${dashed}>` : isOption ? option : name;
    const wrong = field.kind === "flag" ? null : wrongFor(name, field, { subject: () => subject });
    return { dashed, subject, value: wrong?.value ?? "x", sentence: wrong?.sentence };
  });
  const others = given.filter(({ dashed, sentence }) => !places.includes(dashed) && sentence !== undefined);
  return {
    words: [
      // A word that is no field names the workspace.
      ...places
        .filter((place) => /^[a-z-]+$/u.test(place))
        .map((place) => given.find(({ dashed }) => dashed === place)?.value ?? shopDomain),
      ...others.flatMap(({ subject, value }) =>
        subject.startsWith("--") ? [subject, value] : [`${subject}=${value}`],
      ),
    ],
    sentences: given.flatMap(({ sentence }) => sentence ?? []),
  };
}
