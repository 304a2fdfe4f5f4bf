// The search as a path over what its model expects: two knobs as a map of power, or one knob as a curve.

import { svg } from "/dom.js";
import { drawing, key } from "/drawing.js";
import * as format from "/format.js";
import { lastSearch } from "/past.js";
import { linear, ticks } from "/scale.js";

const LEFT = 58, RIGHT = 14, TOP = 12, BOTTOM = 40;
/** viridis, dark to light; as in the reports. */
const RAMP = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];

const channels = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

/** Between the two nearest colours of the ramp. */
function colour(share) {
  const at = Math.min(Math.max(share, 0), 1) * (RAMP.length - 1), below = Math.min(Math.floor(at), RAMP.length - 2);
  const [from, to] = [channels(RAMP[below]), channels(RAMP[below + 1])];
  return `rgb(${from.map((channel, i) => Math.round(channel + (at - below) * (to[i] - channel))).join(" ")})`;
}

const named = (id) => {
  const { name, unit } = format.knob(id);
  return unit ? `${name} (${unit})` : name;
};

const hatch = () => svg("defs", {}, svg("pattern", { id: "over", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
  svg("path", { class: "hatch", d: "M0 0V7" })));

/** Where cells begin and end: half-way between values. */
function edges(values) {
  const between = values.slice(1).map((value, i) => (value + values[i]) / 2);
  const first = values[0] - ((between[0] ?? values[0] + 0.5) - values[0]);
  return [first, ...between, values.at(-1) + (values.at(-1) - (between.at(-1) ?? values.at(-1) - 0.5))];
}

function badge({ x, y }, trial, number) {
  return svg("g", {}, svg("circle", { class: `dot${trial.meets_slo ? "" : " missed-dot"}`, cx: x, cy: y, r: 9 }),
    svg("text", { class: "number", x, y: y + 4 }, number));
}

function star({ x, y }) {
  const points = Array.from({ length: 10 }, (_, i) => {
    const radius = i % 2 ? 6.5 : 15, angle = (Math.PI * i) / 5 - Math.PI / 2;
    return `${(x + radius * Math.cos(angle)).toFixed(1)},${(y + radius * Math.sin(angle)).toFixed(1)}`;
  });
  return svg("polygon", { class: "star", points: points.join(" ") });
}

function axes(map, x, y, yTicks, yLabel, width, height, xValues) {
  return [
    svg("path", { class: "axis", d: `M${LEFT} ${TOP}V${height - BOTTOM}H${width - RIGHT}` }),
    ...ticks(xValues[0], xValues.at(-1), width / 90).map((value) =>
      svg("text", { class: "soft", x: x(value), y: height - BOTTOM + 16, "text-anchor": "middle" }, format.number(value, Number.isInteger(value) ? 0 : 1))),
    ...yTicks.map((value) => svg("text", { class: "soft", x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, format.number(value, Number.isInteger(value) ? 0 : 1))),
    svg("text", { x: (LEFT + width - RIGHT) / 2, y: height - 6, "text-anchor": "middle" }, named(map.axes[0].knob)),
    svg("text", { x: 12, y: (TOP + height - BOTTOM) / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${(TOP + height - BOTTOM) / 2})` }, yLabel),
  ];
}

function path(places) {
  const d = places.map(({ x, y }, i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
  return [svg("path", { class: "halo", d }), svg("path", { class: "path", d })];
}

/** Where badges stand: beside those before them. */
function apart(places) {
  const stands = [];
  for (const place of places) {
    const near = (at) => stands.some((stand) => stand && Math.hypot(stand.x - at.x, stand.y - at.y) < 15);
    let at = place;
    for (let i = 1; at && near(at) && i < 9; i++) at = { x: place.x + 17 * Math.cos(i * 0.8), y: place.y + 17 * Math.sin(i * 0.8) };
    stands.push(at);
  }
  return stands;
}

function marks(trials, held, place) {
  const places = trials.map(place), stands = apart(places);
  return [
    ...path(places.filter(Boolean)), ...(held && place(held) ? [star(place(held))] : []),
    ...trials.map((trial, i) => stands[i] && badge(stands[i], trial, i + 1)),
  ];
}

function field(map, trials, held, width) {
  const height = Math.round(Math.min(Math.max(width * 0.55, 240), 440));
  const [a, b] = map.axes, xs = edges(a.values), ys = edges(b.values);
  const x = linear([xs[0], xs.at(-1)], [LEFT, width - RIGHT]), y = linear([ys[0], ys.at(-1)], [height - BOTTOM, TOP]);
  const costs = map.cost.flat(), low = Math.min(...costs), high = Math.max(...costs);
  const cells = [], over = [];
  map.cost.forEach((row, j) => row.forEach((cost, i) => {
    const box = { x: x(xs[i]), y: y(ys[j + 1]), width: x(xs[i + 1]) - x(xs[i]) + 0.5, height: y(ys[j]) - y(ys[j + 1]) + 0.5 };
    cells.push(svg("rect", { ...box, fill: colour((cost - low) / (high - low || 1)) }));
    if (map.latency_us[j][i] > map.limit_us) over.push(svg("rect", { ...box, fill: "url(#over)" }));
  }));
  const place = ({ setting }) => {
    const [u, v] = [setting?.[a.knob], setting?.[b.knob]];
    return typeof u === "number" && typeof v === "number" ? { x: x(u), y: y(v) } : null;
  };
  return { height, place, children: [hatch(), ...cells, ...over, ...axes(map, x, y, ticks(b.values[0], b.values.at(-1), 5), named(b.knob), width, height, a.values), ...marks(trials, held, place)] };
}

function curve(map, trials, held, width) {
  const height = 240, knob = map.axes[0].knob, values = map.axes[0].values, costs = map.cost[0];
  const measured = trials.map((trial) => trial.power_w).filter((w) => w != null && map.minimised === "power");
  const all = [...costs, ...measured], low = Math.min(...all), high = Math.max(...all), room = 0.12 * (high - low || 1);
  const xs = edges(values);
  const x = linear([xs[0], xs.at(-1)], [LEFT, width - RIGHT]), y = linear([low - room, high + room], [height - BOTTOM, TOP]);
  const over = values.map((_, i) => i).filter((i) => map.latency_us[0][i] > map.limit_us).map((i) =>
    svg("rect", { x: x(xs[i]), width: x(xs[i + 1]) - x(xs[i]) + 0.5, y: TOP, height: height - BOTTOM - TOP, fill: "url(#over)" }));
  const expected = (value) => {
    const i = values.findIndex((each) => each >= value);
    return costs[i < 0 ? costs.length - 1 : i];
  };
  const place = ({ setting, power_w }) => {
    const value = setting?.[knob];
    if (typeof value !== "number") return null;
    return { x: x(value), y: y(map.minimised === "power" && power_w != null ? power_w : expected(value)) };
  };
  const line = values.map((value, i) => `${i ? "L" : "M"}${x(value).toFixed(1)} ${y(costs[i]).toFixed(1)}`).join("");
  return { height, place, children: [hatch(), ...over, ...axes(map, x, y, ticks(low, high, 4), unitOf(map), width, height, values), svg("path", { class: "series power", d: line }), ...marks(trials, held, place)] };
}

const unitOf = (map) => (map.minimised === "power" ? "power (W)" : map.minimised);

export function searchMap() {
  let past = null;
  function draw(width) {
    const { map } = past, { trials } = lastSearch(past), held = past.standing?.setting ? { setting: past.standing.setting } : null;
    const { height, place, children } = (map.axes.length > 1 ? field : curve)(map, trials, past.standing?.doing === "trial" ? null : held, width);
    const readings = trials.map((trial, i) => ({ trial, i, at: place(trial) })).filter(({ at }) => at).map(({ trial, i, at }) => ({
      x: at.x,
      text: `trial ${i + 1}: ${format.setting(trial.setting)}: ${trial.cut_short ?? `${format.watts(trial.power_w)}, ${format.latency(trial.latency_us)}`}${trial.meets_slo ? "" : ", misses the SLO"}`,
    }));
    return { title: `The path of ${trials.length} trials over the ${unitOf(map)} that the model expects`, height, children, readings };
  }
  const chart = drawing("Map of the search", draw);
  return { root: chart.root, update: (next) => { past = next; if (past.map) chart.update(); } };
}

export function legend(map) {
  const costs = map.cost.flat(), low = Math.min(...costs), high = Math.max(...costs);
  const show = (value) => (map.minimised === "power" ? format.watts(value) : format.number(value, 3));
  const ramp = RAMP.map((fill, i) => svg("rect", { x: 2.4 * i, width: 2.6, height: 12, fill }));
  const shown = map.axes.length > 1
    ? key(`expected ${map.minimised}, ${show(low)} to ${show(high)}`, ...ramp)
    : key(`expected ${map.minimised}`, svg("path", { class: "series power", d: "M0 6H24" }));
  const over = svg("rect", { width: 24, height: 12, fill: "url(#over)" });
  return [shown, key("expected to miss the SLO", over), key("a trial", svg("circle", { class: "dot", cx: 12, cy: 6, r: 5 })),
    key("a trial that missed it", svg("circle", { class: "dot missed-dot", cx: 12, cy: 6, r: 4.5 })),
    key("in effect", svg("polygon", { class: "star", points: "12,0 14,4 18,4.5 15,7.5 16,12 12,9.5 8,12 9,7.5 6,4.5 10,4" }))];
}
