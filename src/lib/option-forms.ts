import { isIP } from "node:net";
import { isHttpsOrLoopback, type Network } from "./networks.ts";

/** The form of a value: the end of the sentence "NAME must …", and its reader; undefined = not of this form. */
export type Form<Value> = { rule: string; read: (text: string) => Value | undefined };

export const text: Form<string> = { rule: "be text", read: (value) => value };

export const flag: Form<boolean> = {
  rule: "be true or false",
  read: (value) => (value === "true" || value === "false" ? value === "true" : undefined),
};

export const onOrOff: Form<boolean> = {
  rule: "be on or off",
  read: (value) => (value === "on" || value === "off" ? value === "on" : undefined),
};

export const integer = (minimum: number, maximum: number): Form<number> => ({
  rule: `be a whole number from ${minimum} to ${maximum}`,
  read: (value) => {
    const number = /^\d{1,9}$/u.test(value) ? Number(value) : Number.NaN;
    return number >= minimum && number <= maximum ? number : undefined;
  },
});

/** A number of days, at least `minimum`; "forever" is read as Infinity. */
export const daysOrForever = (minimum: number): Form<number> => {
  const days = daysFrom(minimum);
  return {
    rule: `${days.rule}, or forever`,
    read: (value) => (value === "forever" ? Number.POSITIVE_INFINITY : days.read(value)),
  };
};

/** Up to a hundred years. */
export const daysFrom = (minimum: number): Form<number> => integer(minimum, 36_500);

/** Whole numbers from one to another, both included, such as 1000000-1999999. */
export const numberRange: Form<{ first: number; last: number }> = {
  rule: `be two whole numbers from 1 to ${Number.MAX_SAFE_INTEGER} such as 1000000-1999999, the smaller first`,
  read: (value) => {
    const [, first = 0, last = 0] = (/^(\d{1,16})-(\d{1,16})$/u.exec(value) ?? []).map(Number);
    return first >= 1 && last >= first && Number.isSafeInteger(last) ? { first, last } : undefined;
  },
};

export const matching = (rule: string, pattern: RegExp): Form<string> => ({
  rule,
  read: (value) => (pattern.test(value) ? value : undefined),
});

export const oneOf = <Value extends string>(values: readonly Value[]): Form<Value> => ({
  rule: `be ${values.slice(0, -1).join(", ")} or ${values.at(-1)}`,
  read: (value) => values.find((known) => known === value),
});

export const ratio: Form<number> = {
  rule: "be a number from 0 to 1",
  read: (value) => (/^(?:0(?:\.\d+)?|1(?:\.0+)?)$/u.test(value) ? Number(value) : undefined),
};

export const origins: Form<readonly string[]> = {
  rule: "list origins such as https://app.example",
  read: (list) => {
    const listed = list.split(",").flatMap((origin) => origin.trim() || []);
    return listed.every((origin) => URL.parse(origin)?.origin === origin) ? listed : undefined;
  },
};

/** Names with the key of a plan each. A name may hold anything but commas. */
export const plansByName: Form<readonly (readonly [name: string, plan: string])[]> = {
  rule: "list names of subscriptions with plans, such as Growth monthly=growth,Scale=scale, each name once",
  read: (list) => {
    const pairs = list.split(",").map((pair) => {
      const end = pair.lastIndexOf("=");
      return [pair.slice(0, Math.max(0, end)).trim(), pair.slice(end + 1).trim()] as const;
    });
    const isValid = pairs.every(([name, plan]) => name !== "" && /^[a-z0-9][a-z0-9_-]*$/u.test(plan));
    return isValid && new Map(pairs).size === pairs.length ? pairs : undefined;
  },
};

export const networks: Form<readonly Network[]> = {
  rule: "list networks such as 10.0.0.0/8,fd00::/8",
  read: (list) => readNetworks(list, false),
};

/** An address counts as a network of one address. */
export const addressesAndNetworks: Form<readonly Network[]> = {
  rule: "list addresses and networks such as 127.0.0.1,10.0.0.0/8,fd00::/8",
  read: (list) => readNetworks(list, true),
};

function readNetworks(list: string, takesAddresses: boolean): Network[] | undefined {
  const listed = list.split(",").flatMap((network) => network.trim() || []);
  const read = listed.map((network): Network | undefined => {
    const [, address = "", bits] = /^([0-9a-f.:]+)(?:\/(\d{1,3}))?$/iu.exec(network) ?? [];
    const longest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
    if (bits === undefined) return takesAddresses && longest > 0 ? [address, longest] : undefined;
    return Number(bits) <= longest ? [address, Number(bits)] : undefined;
  });
  return read.includes(undefined) ? undefined : (read as Network[]);
}

/** Platforms send browsers and webhooks there, so it must be the root of an origin. */
export const rootAddress: Form<string> = {
  rule: "be an address without a path, such as https://returns.example.com",
  read: (address) => {
    const url = URL.parse(address);
    const isRoot = url !== null && /^https?:$/u.test(url.protocol) && url.href === `${url.origin}/`;
    return isRoot ? url.origin : undefined;
  },
};

export const issuerAddress: Form<string> = {
  rule: "be an https address without a query, such as https://login.example.com; http only on this machine",
  read: (address) => (isHttpsOrLoopback(address) && !/[?#@]/u.test(address) ? address : undefined),
};

export const mailServer: Form<URL> = {
  rule: "be smtp:// or smtps:// with a host, such as smtp://user:password@mail.example.com:587",
  read: (address) => {
    const url = URL.parse(address);
    if (url === null || !isDecodable(url.username + url.password)) return undefined;
    const isServer = /^smtps?:$/u.test(url.protocol) && url.hostname !== "";
    return isServer && /^\/?$/u.test(url.pathname) && url.search === "" ? url : undefined;
  },
};

function isDecodable(encoded: string): boolean {
  try {
    return decodeURIComponent(encoded) !== undefined;
  } catch {
    return false;
  }
}
