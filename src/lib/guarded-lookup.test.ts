import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { test } from "node:test";
import { blockListOf } from "./networks.ts";
import { isAllowed, resolveByServers, type Resolve } from "./guarded-lookup.ts";

const NONE = blockListOf([]);
const https = { protocol: "https:", allowed: NONE };

test("private, loopback, link-local, metadata and other addresses that are not public are refused", () => {
  const refused =
    `0.0.0.0 10.1.2.3 100.64.0.1 100.100.100.200 127.0.0.1 127.255.0.1 168.63.129.16 169.254.169.254
    172.16.0.1 172.31.255.255 192.0.0.192 192.168.1.1 198.18.0.1 224.0.0.1 255.255.255.255 :: ::1 ::ffff:10.0.0.1
    ::ffff:8.8.8.8 64:ff9b::a00:1 fe80::1 fc00::1 fd00:ec2::254 ff02::1 2002:a00:1:: 2001:0:1:: 2001:db8::1
    localhost 10.0.0.1.example`.split(/\s+/u);
  assert.deepEqual(
    refused.filter((address) => isAllowed(address, https)),
    [],
  );
});

test("public addresses are allowed over https alone, and networks of the operator's over http too", () => {
  const publicOnes = ["8.8.8.8", "1.1.1.1", "172.32.0.1", "2606:4700::1111", "2a00:1450:4001::1"];
  assert.deepEqual(
    publicOnes.filter((address) => !isAllowed(address, https)),
    [],
  );
  const allowed = blockListOf([
    ["10.0.0.0", 8],
    ["fd00::", 8],
  ]);
  for (const protocol of ["https:", "http:"]) {
    assert.ok(isAllowed("10.9.9.9", { protocol, allowed }));
    assert.ok(isAllowed("fd12::1", { protocol, allowed }));
    assert.ok(!isAllowed("127.0.0.1", { protocol, allowed }));
  }
  assert.ok(!isAllowed("8.8.8.8", { protocol: "http:", allowed }));
});

const [IPV4, IPV6] = [1, 28];
const ADDRESS = Buffer.from("20010000000000000000000000000009", "hex");
/** By name and type of record; a name that is missing does not exist. */
const RECORDS: Readonly<Record<string, Readonly<Record<number, Buffer>>>> = {
  "both.example": { [IPV4]: Buffer.from([198, 51, 100, 7]), [IPV6]: ADDRESS },
  "together.example": { [IPV4]: Buffer.from([198, 51, 100, 7]), [IPV6]: ADDRESS },
  "six.example": { [IPV6]: ADDRESS },
  "empty.example": {},
};

/**
 * A DNS server that answers from `RECORDS`, refuses "broken.example", never answers "silent.example", and answers "together.example"
 * when it was asked for both kinds.
 */
async function startDns() {
  const socket = createSocket("udp4");
  const waiting = new Map<number, () => void>();
  socket.on("message", (question, { port, address }) => {
    const end = question.indexOf(0, 12);
    const name = question.toString("latin1", 13, end).replaceAll(/[\x01-\x3f]/gu, ".");
    if (name === "silent.example") return;
    const kind = question.readUInt16BE(end + 1);
    const record = RECORDS[name]?.[kind];
    const head = Buffer.from(question.subarray(0, end + 5));
    head.writeUInt16BE(0x8180 + (name === "broken.example" ? 2 : name in RECORDS ? 0 : 3), 2);
    head.writeUInt16BE(record === undefined ? 0 : 1, 6);
    head.fill(0, 8, 12);
    const type = question.subarray(end + 1, end + 5);
    const answer =
      record === undefined
        ? []
        : [Buffer.from([0xc0, 12]), type, Buffer.from([0, 0, 0, 0, 0, record.length]), record];
    waiting.set(kind, () => socket.send(Buffer.concat([head, ...answer]), port, address));
    if (name === "together.example" && waiting.size < 2) return;
    for (const send of waiting.values()) send();
    waiting.clear();
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return { resolve: resolveByServers([`127.0.0.1:${socket.address().port}`]), stop: () => socket.close() };
}

const resolved = (resolve: Resolve, name: string) =>
  new Promise((done) =>
    resolve(name, (error, addresses) =>
      done(error === null ? addresses.map(({ address }) => address) : (error as NodeJS.ErrnoException).code),
    ),
  );

test("a name of a stranger is resolved to its addresses of both kinds, or has the code of the machine's look-up", async () => {
  const { resolve, stop } = await startDns();
  for (const [name, expected] of [
    ["both.example", ["198.51.100.7", "2001::9"]],
    ["together.example", ["198.51.100.7", "2001::9"]],
    ["six.example", ["2001::9"]],
    ["empty.example", "ENOTFOUND"],
    ["none.example", "ENOTFOUND"],
    ["broken.example", "EAI_AGAIN"],
  ] as const) {
    assert.deepEqual(await resolved(resolve, name), expected, name);
  }
  stop();
});

test("names that are never answered hold no thread of the process", async () => {
  const { resolve, stop } = await startDns();
  const silent = Array.from({ length: 50 }, () => resolved(resolve, "silent.example"));
  const first = await Promise.race([...silent, lookup("localhost").then(({ address }) => address)]);
  assert.match(String(first), /^(?:127\.0\.0\.1|::1)$/u);
  stop();
  assert.deepEqual(new Set(await Promise.all(silent)), new Set(["EAI_AGAIN"]));
});
