// Numbers, times and settings as people read them.

export const number = (value, digits = 0) =>
  value == null ? "–" : value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });

export const percent = (share, digits = 0) => (share == null ? "–" : `${number(100 * share, digits)} %`);

export const watts = (value) => (value == null ? "–" : `${number(value, value < 100 ? 1 : 0)} W`);

export function latency(us) {
  if (us == null) return "–";
  return us < 1000 ? `${number(us, us < 10 ? 1 : 0)} µs` : `${number(us / 1000, us < 10000 ? 2 : 1)} ms`;
}

export const load = (qps) => (qps == null ? "–" : `${number(qps)} requests/s`);

/** `power.cap_w` as "power.cap" and "W". */
export function knob(id) {
  const units = { _usecs: "µs", _us: "µs", _mhz: "MHz", _w: "W" };
  const [end, unit] = Object.entries(units).find(([suffix]) => id.split("@")[0].endsWith(suffix)) ?? ["", ""];
  const [name, place] = id.split("@");
  return { name: name.slice(0, name.length - end.length) + (place ? ` (${place})` : ""), unit };
}

export function setting(values) {
  if (values == null) return "the default";
  const parts = Object.entries(values).map(([id, value]) => {
    const { name, unit } = knob(id);
    return `${name} ${value}${unit && typeof value === "number" ? ` ${unit}` : ""}`;
  });
  return parts.join(", ");
}

/** What is in effect; without a setting the machine has its own only where that is known. */
export const inEffect = (standing) => (standing.setting == null && !standing.restored ? "unknown" : setting(standing.setting));

const sameDay = (a, b) => a.toDateString() === b.toDateString();

export function time(seconds) {
  const moment = new Date(1000 * seconds);
  const clock = moment.toLocaleTimeString("en-GB");
  return sameDay(moment, new Date()) ? clock : `${moment.toLocaleDateString("en-CA")} ${clock}`;
}

export function ago(seconds) {
  if (seconds < 90) return `${number(Math.max(seconds, 0))} s ago`;
  return seconds < 5400 ? `${number(seconds / 60)} min ago` : `${number(seconds / 3600)} h ago`;
}

/** What a service is about, and how serious that is. */
export function doing(standing) {
  const words = {
    beginning: ["reaching the machine", "plain"], paused: ["paused", "warn"], trouble: ["trouble", "bad"],
    default: ["the default", "plain"], trial: ["searching", "warn"], hold: ["holding", "good"],
    switchback: ["comparing with the default", "good"],
    "fall-back": ["fell back", "bad"], other: ["somebody else's setting", "plain"],
  };
  return words[standing.doing] ?? [standing.doing, "plain"];
}
