import assert from "node:assert/strict";
import { test } from "node:test";
import { blockListOf } from "./networks.ts";
import { isAllowed } from "./guarded-lookup.ts";

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
