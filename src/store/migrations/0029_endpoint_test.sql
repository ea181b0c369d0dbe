-- Works with 0014_erasure.

-- A test message that a command has asked for: a worker sends it, with the options that alerts are sent with.
alter table alert_endpoint add column test_asked_at timestamptz;
-- What became of it, a sentence; null = it is not sent yet.
alter table alert_endpoint add column test_answer text;
alter table alert_endpoint add column test_delivered boolean;
