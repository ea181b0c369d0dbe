// Preloaded by the processes that the pictures are taken of: their clock starts at the moment of SCREENSHOTS_CLOCK.

const RealDate = Date;
const offsetMs = RealDate.parse(process.env.SCREENSHOTS_CLOCK ?? "") - RealDate.now();

globalThis.Date = class extends RealDate {
  constructor(...parts) {
    if (parts.length === 0) super(RealDate.now() + offsetMs);
    else super(...parts);
  }

  static now() {
    return RealDate.now() + offsetMs;
  }
};
