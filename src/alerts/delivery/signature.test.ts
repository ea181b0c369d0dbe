import assert from "node:assert/strict";
import { test } from "node:test";
import { newSigningSecret, signatureHeaders } from "./signature.ts";

test("a message is signed as the example of the specification's libraries", () => {
  const headers = signatureHeaders(
    {
      messageId: "msg_p5jXN8AQM9LWM0D4loKWxJek",
      sentAt: new Date(1_614_265_330_000),
      body: '{"test": 2432232314}',
    },
    ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
  );
  assert.deepEqual(headers, {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  });
});

test("a secret is 32 random bytes in base64", () => {
  const secret = newSigningSecret();
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/u);
  assert.notEqual(secret, newSigningSecret());
});
