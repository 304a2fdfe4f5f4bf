// Windows over time: latency under its limit, or power beside what the default drew.

import { folded, svg, table } from "/dom.js";
import { drawing, key } from "/drawing.js";
import * as format from "/format.js";
import { linear, moments, ticks } from "/scale.js";

const LEFT = 52, RIGHT = 8, TOP = 10, BOTTOM = 24, HEIGHT = 190;
/** Latency far over the limit is cut off at so many times the limit, so that what is near to it can be seen. */
const LIMITED = 1.6;

function bands(windows, x) {
  return windows.filter((window) => window.phase !== "hold").map((window) => svg("rect", {
    class: `band ${window.phase}`, x: x(window.start_s), width: Math.max(x(window.end_s) - x(window.start_s), 1),
    y: TOP, height: HEIGHT - TOP - BOTTOM,
  }));
}

/** One path for windows that are there, in steps. */
function steps(windows, value, x, y) {
  let path = "", end = null;
  for (const window of windows) {
    const level = y(value(window)).toFixed(1), from = x(window.start_s).toFixed(1), to = x(window.end_s).toFixed(1);
    path += end !== null && window.start_s - end < 2 ? `V${level}H${to}` : `M${from} ${level}H${to}`;
    end = window.end_s;
  }
  return path;
}

/** `get` reads the value, `say` and `mark` write it, the latter on the axis; `rule` is a line across: { at, kind, text }. */
export function overTime({ label, kind, get, say, mark, rule, top }) {
  let past = null;
  const shown = () => past.windows.filter((window) => get(window) != null);

  function draw(width) {
    const all = past.windows, windows = shown();
    const x = linear([all.at(0)?.start_s ?? 0, all.at(-1)?.end_s ?? 1], [LEFT, width - RIGHT]);
    const line = rule(past), most = Math.max(...windows.map(get), line?.at ?? 0);
    const high = 1.08 * top(most, line?.at);
    const y = linear([0, high], [HEIGHT - BOTTOM, TOP]);
    const clipped = (window) => Math.min(get(window), high);
    const grid = ticks(0, high, 4).flatMap((value) => [
      svg("path", { class: value ? "grid" : "axis", d: `M${LEFT} ${y(value)}H${width - RIGHT}` }),
      svg("text", { class: "soft", x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, mark(value)),
    ]);
    const times = all.length ? moments(all[0].start_s, all.at(-1).end_s, width / 110).map(({ at, text }) =>
      svg("text", { class: "soft", x: Math.min(Math.max(x(at), LEFT + 24), width - 30), y: HEIGHT - 6, "text-anchor": "middle" }, text)) : [];
    const across = line ? [svg("path", { class: line.kind, d: `M${LEFT} ${y(line.at)}H${width - RIGHT}` })] : [];
    const misses = kind === "latency" ? windows.filter((window) => !window.meets_slo) : [];
    const last = windows.at(-1);
    return {
      title: `${label} of ${windows.length} windows; the last ${last ? say(get(last)) : "shows none"}${line ? `, ${line.text} ${say(line.at)}` : ""}`,
      height: HEIGHT,
      children: [
        ...grid, ...times, ...bands(all, x), ...across,
        svg("path", { class: `series ${kind}`, d: steps(windows, clipped, x, y) }),
        svg("path", { class: "series missed", d: misses.map((w) => `M${x(w.start_s)} ${y(clipped(w))}H${Math.max(x(w.end_s), x(w.start_s) + 2)}`).join("") }),
      ],
      readings: windows.map((window) => ({
        x: (x(window.start_s) + x(window.end_s)) / 2,
        text: `${format.time(window.end_s)}: ${say(get(window))}, ${window.phase}, ${format.setting(window.setting)}, ${format.load(window.qps)}`,
      })),
    };
  }
  const chart = drawing(label, draw);
  return { root: chart.root, update: (next) => { past = next; chart.update(); } };
}

const stroke = (kind) => svg("path", { class: kind, d: "M0 6H24" });
const field = (phase) => svg("rect", { class: `band ${phase}`, width: 24, height: 12 });

export const legend = () => [
  key("the SLO's limit", stroke("limit")), key("missed the SLO", stroke("series missed")),
  key("what the default drew last", stroke("was")), key("a trial", field("trial")),
  key("the default, or somebody else's setting", field("default")), key("fallen back", field("fall-back")),
];

export const latencyLimit = (most, limit) => Math.min(most, LIMITED * (limit ?? most));

/** All windows in words. */
export function inWords() {
  let past = null;
  const rows = () => past.windows.toReversed().map((w) => [
    format.time(w.end_s), w.phase, format.setting(w.setting), format.load(w.qps), format.watts(w.power_w),
    format.latency(w.latency_us), w.meets_slo ? "met" : "missed", w.cut_short ?? "",
  ]);
  const head = ["ended", "phase", "setting", "load", "power", "latency", "SLO", "cut short"];
  const { root, refresh } = folded("The windows as a table", () => table("Windows, newest first", head, rows()));
  return { root, update: (next) => { past = next; refresh(); } };
}
