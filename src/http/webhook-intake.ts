/** What all deliveries that are being read may take together. */
export type IntakeLimits = { requests: number; bytes: number };

/** Takes a place for a request and its bytes; null = there is none. Calling what it returns again changes nothing. */
export type Intake = (bytes: number) => (() => void) | null;

export function openIntake(limits: IntakeLimits): Intake {
  let requests = 0;
  let takenBytes = 0;
  return (bytes) => {
    if (requests >= limits.requests || takenBytes + bytes > limits.bytes) return null;
    requests += 1;
    takenBytes += bytes;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      requests -= 1;
      takenBytes -= bytes;
    };
  };
}
