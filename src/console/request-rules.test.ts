import assert from "node:assert/strict";
import { test } from "node:test";
import { consoleAddress, publicConsole } from "../actions/console-address.ts";
import { judgeRequest, type RequestHead, type OriginVerdict } from "./request-rules.ts";

const LOOPBACK = { publicOrigin: null };
const PUBLIC = { publicOrigin: "https://returns.example" };

const OURS = { host: "localhost:8080", origin: "http://localhost:8080", fetchSite: "same-origin" };

const read = (host: string | undefined): RequestHead => ({
  method: "GET",
  host,
  origin: undefined,
  fetchSite: undefined,
});
const post = (own: Partial<RequestHead> = {}): RequestHead => ({ method: "POST", ...OURS, ...own });

test("without PUBLIC_URL the console has this machine's names alone, with any port", () => {
  for (const host of [
    "localhost",
    "localhost:8080",
    "LOCALHOST:1",
    "127.0.0.1:65535",
    "127.0.0.2",
    "127.1.2.3:8080",
    "[::1]",
    "[::1]:9000",
  ]) {
    assert.equal(judgeRequest(read(host), LOOPBACK), "allowed", host);
  }
  const others = [
    "returns.example",
    "localhost.evil.example",
    "evil.example:8080",
    "127.0.0.1.nip.io",
    "1127.0.0.2",
    "127.0.0.2.evil.example",
    "[localhost]",
    "[::1]evil.example",
    "0.0.0.0:8080",
    "192.168.1.2:8080",
    "localhost.",
    "localhost:",
    "localhost:8080, evil.example",
    "user@localhost",
    "[::1",
    "::1",
    "",
    undefined,
  ];
  for (const host of others) assert.equal(judgeRequest(read(host), LOOPBACK), "other_host", String(host));
});

test("the address that a sign-in link has is one at which the console answers, whatever PUBLIC_URL is", () => {
  for (const url of [
    null,
    "http://localhost:9000",
    "http://127.0.0.1",
    "http://127.1.2.3:9000",
    "http://[::1]:9000",
    "https://returns.example",
  ]) {
    const { host } = new URL(consoleAddress(url, 8080));
    assert.equal(judgeRequest(read(host), { publicOrigin: publicConsole(url) }), "allowed", String(url));
  }
});

test("with an https PUBLIC_URL the console has that name alone", () => {
  assert.equal(judgeRequest(read("returns.example"), PUBLIC), "allowed");
  assert.equal(judgeRequest(read("Returns.Example"), PUBLIC), "allowed");
  for (const host of [
    "localhost:8080",
    "127.0.0.1",
    "other.example",
    "a.returns.example",
    "returns.example:8080",
  ]) {
    assert.equal(judgeRequest(read(host), PUBLIC), "other_host", host);
  }
});

const CHANGES: readonly [Partial<RequestHead>, OriginVerdict][] = [
  [{}, "allowed"],
  [{ fetchSite: undefined }, "allowed"],
  [{ origin: undefined }, "allowed"],
  [{ origin: undefined, fetchSite: undefined }, "other_origin"],
  [{ origin: "null" }, "other_origin"],
  [{ origin: "null", fetchSite: undefined }, "other_origin"],
  [{ origin: "http://evil.example" }, "other_origin"],
  [{ origin: "http://evil.example", fetchSite: undefined }, "other_origin"],
  [{ origin: "http://localhost:8081" }, "other_origin"],
  [{ origin: "https://localhost:8080" }, "other_origin"],
  [{ origin: "http://127.0.0.1:8080" }, "other_origin"],
  [{ origin: undefined, fetchSite: "same-site" }, "other_origin"],
  [{ fetchSite: "cross-site" }, "other_origin"],
  [{ fetchSite: "none" }, "other_origin"],
  [{ fetchSite: "same-origin, cross-site" }, "other_origin"],
  [{ host: "evil.example:8080", origin: "http://evil.example:8080" }, "other_host"],
];

test("a change has to come from a page of ours, by Origin and by Sec-Fetch-Site", () => {
  for (const [own, verdict] of CHANGES) {
    assert.equal(judgeRequest(post(own), LOOPBACK), verdict, JSON.stringify(own));
  }
  const head = post({ host: "returns.example", origin: "https://returns.example" });
  assert.equal(judgeRequest(head, PUBLIC), "allowed");
  assert.equal(judgeRequest({ ...head, origin: "http://returns.example" }, PUBLIC), "other_origin");
});

test("every method that may change something is judged as a POST is", () => {
  for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "get"]) {
    assert.equal(judgeRequest({ ...post({ origin: "null" }), method }, LOOPBACK), "other_origin", method);
  }
});
