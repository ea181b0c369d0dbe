import assert from "node:assert/strict";
import { test } from "node:test";
import { pushOptions } from "./send.ts";

const smtpOf = (url: string) =>
  pushOptions({ pushNetworks: [], smtpUrl: new URL(url), smtpFrom: "alerts@returns.example" }).smtp;

test("mail goes over TLS from the first byte or by STARTTLS, and without TLS only to this machine", () => {
  const { host, port, tls, user, password } = smtpOf("smtps://us%40er:p%3Ass@mail.example") ?? {};
  assert.deepEqual([host, port, tls, user, password], ["mail.example", 465, "implicit", "us@er", "p:ss"]);
  const others = ["smtp://mail.example", "smtp://mail.example:25", "smtp://localhost", "smtp://[::1]:1025"];
  assert.deepEqual(
    others.map(smtpOf).map((smtp) => [smtp?.host, smtp?.port, smtp?.tls, smtp?.user]),
    [
      ["mail.example", 587, "starttls", null],
      ["mail.example", 25, "starttls", null],
      ["localhost", 587, "none", null],
      ["::1", 1025, "none", null],
    ],
  );
});
