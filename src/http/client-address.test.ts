import assert from "node:assert/strict";
import { test } from "node:test";
import { blockListOf } from "../lib/networks.ts";
import { addressesAndNetworks } from "../lib/option-forms.ts";
import { clientAddressOf, clientKeyOf, readAddress } from "./client-address.ts";

const PROXIES = blockListOf(addressesAndNetworks.read("127.0.0.1, ::1,10.0.0.0/8,fd00::/8") ?? []);

type Headers = { "x-forwarded-for"?: string; forwarded?: string };

const from = (remoteAddress: string | undefined, headers: Headers = {}, trusted = PROXIES): string =>
  clientAddressOf({ socket: { remoteAddress }, headers }, trusted);

const CASES: readonly [what: string, peer: string, headers: Headers, expected: string][] = [
  ["nobody's word", "203.0.113.7", { "x-forwarded-for": "1.1.1.1", forwarded: "for=1.1.1.1" }, "203.0.113.7"],
  ["one proxy", "127.0.0.1", { "x-forwarded-for": "203.0.113.7" }, "203.0.113.7"],
  [
    "a proxy, as IPv4 in IPv6",
    "::ffff:127.0.0.1",
    { "x-forwarded-for": "::ffff:203.0.113.7" },
    "203.0.113.7",
  ],
  ["a proxy without a header", "10.1.2.3", {}, "10.1.2.3"],
  [
    "an address that the client invented",
    "10.1.2.3",
    { "x-forwarded-for": "9.9.9.9, 203.0.113.7" },
    "203.0.113.7",
  ],
  ["two proxies", "127.0.0.1", { "x-forwarded-for": "9.9.9.9, 203.0.113.7, 10.0.0.9" }, "203.0.113.7"],
  [
    "a client within the proxies' network",
    "127.0.0.1",
    { "x-forwarded-for": "10.0.0.1, 10.0.0.2" },
    "10.0.0.1",
  ],
  ["garbage", "127.0.0.1", { "x-forwarded-for": "203.0.113.7, unknown" }, "127.0.0.1"],
  ["garbage behind a proxy", "127.0.0.1", { "x-forwarded-for": "<x>, 10.0.0.9" }, "10.0.0.9"],
  ["an empty header", "127.0.0.1", { "x-forwarded-for": "" }, "127.0.0.1"],
  ["a trailing comma", "127.0.0.1", { "x-forwarded-for": "203.0.113.7," }, "127.0.0.1"],
  ["ports", "127.0.0.1", { "x-forwarded-for": "203.0.113.7:443" }, "203.0.113.7"],
  ["IPv6 with a port", "::1", { "x-forwarded-for": "[2001:DB8:0::1]:443" }, "2001:db8::1"],
  [
    "Forwarded",
    "::1",
    { forwarded: 'for=9.9.9.9;proto=http, FOR="[2001:db8::17]:4711";by=_x' },
    "2001:db8::17",
  ],
  ["Forwarded through two proxies", "::1", { forwarded: "for=203.0.113.7, for=10.0.0.9" }, "203.0.113.7"],
  ["an obfuscated client", "::1", { forwarded: "for=_hidden" }, "::1"],
  [
    "a quote that the client opened",
    "::1",
    { forwarded: 'for=9.9.9.9, for=", for=203.0.113.7' },
    "203.0.113.7",
  ],
  ["a Forwarded without for", "::1", { forwarded: "proto=https;host=for=9.9.9.9" }, "::1"],
  [
    "a second list that the proxy passed on",
    "127.0.0.1",
    { "x-forwarded-for": "203.0.113.7", forwarded: "for=9.9.9.9" },
    "127.0.0.1",
  ],
  [
    "two lists that agree",
    "127.0.0.1",
    { "x-forwarded-for": "203.0.113.7", forwarded: "for=203.0.113.7" },
    "203.0.113.7",
  ],
];

for (const [what, peer, headers, expected] of CASES) {
  test(`the address of a client: ${what}`, () => assert.equal(from(peer, headers), expected));
}

test("a chain of any length takes no time, and is followed for sixteen hops", () => {
  const started = performance.now();
  for (let round = 0; round < 1000; round++) {
    assert.equal(from("127.0.0.1", { "x-forwarded-for": "10.0.0.1,".repeat(3500) }), "127.0.0.1");
    from("127.0.0.1", { "x-forwarded-for": `9.9.9.9,${"10.0.0.1,".repeat(3500)}10.0.0.2` });
    from("127.0.0.1", { forwarded: `for=${'"'.repeat(30_000)}` });
    from("127.0.0.1", { "x-forwarded-for": ":".repeat(30_000) });
  }
  assert.ok(performance.now() - started < 5000);
  assert.equal(
    from("127.0.0.1", { "x-forwarded-for": `9.9.9.9,${"10.0.0.1,".repeat(20)}10.0.0.2` }),
    "10.0.0.1",
  );
});

test("without proxies, and on a connection that is gone, no header counts", () => {
  assert.equal(from("127.0.0.1", { "x-forwarded-for": "1.1.1.1" }, blockListOf([])), "127.0.0.1");
  assert.equal(from(undefined, { "x-forwarded-for": "1.1.1.1" }), "unknown");
});

test("an address has one spelling, and other texts are not addresses", () => {
  for (const same of ["fe80::1%eth0", "FE80:0:0::0001", "[fe80::1]:80"])
    assert.equal(readAddress(same), "fe80::1");
  for (const none of ["", "1.2.3", "1.2.3.4.5", "1.2.3.4:", "::1:", "localhost", "1.2.3.4 5"])
    assert.equal(readAddress(none), null, none);
});

test("an IPv6 client is counted with all addresses of its /64", () => {
  assert.equal(clientKeyOf("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2");
  assert.equal(clientKeyOf("2001:db8:1:2::9"), "2001:db8:1:2");
  assert.equal(clientKeyOf("2001:db8::1"), "2001:db8:0:0");
  assert.equal(clientKeyOf("::1"), "0:0:0:0");
  assert.equal(clientKeyOf("203.0.113.7"), "203.0.113.7");
});
