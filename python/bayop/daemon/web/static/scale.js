// Axes of drawings.

/** A linear scale from values to pixels. */
export function linear([low, high], [from, to]) {
  const span = high - low || 1;
  return (value) => from + ((value - low) / span) * (to - from);
}

/** About `count` round numbers between two others. */
export function ticks(low, high, count) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const raw = span / Math.max(count, 1), ten = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * ten).find((n) => n >= raw);
  const found = [];
  for (let i = Math.ceil(low / step); i * step <= high + 1e-9 * span; i++) found.push(Number((i * step).toPrecision(12)));
  return found;
}

const STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];

/** Round moments between two times, with their words. */
export function moments(low, high, count) {
  const step = STEPS_S.find((s) => s >= (high - low) / Math.max(count, 1)) ?? 604800;
  const offset = -60 * new Date(1000 * high).getTimezoneOffset();
  const found = [];
  for (let i = Math.ceil((low + offset) / step); i * step - offset <= high; i++) {
    const date = new Date(1000 * (i * step - offset));
    const clock = date.toLocaleTimeString("en-GB", step < 60 ? {} : { hour: "2-digit", minute: "2-digit" });
    const text = step < 86400 ? clock : date.toLocaleDateString("en-CA");
    found.push({ at: date / 1000, text });
  }
  return found;
}
