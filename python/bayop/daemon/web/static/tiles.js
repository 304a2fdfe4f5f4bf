// The numbers that stand out: margin, power, saving, load, error budget.

import { el, say } from "/dom.js";
import * as format from "/format.js";

const SAME_LOAD = 0.1;

function tile(title) {
  const value = el("b"), gauge = el("div", { class: "gauge", hidden: true }, el("i")), note = el("p");
  const root = el("li", {}, el("span", {}, title), value, gauge, note);
  const update = (text, words, share) => {
    say(value, text);
    say(note, words);
    gauge.hidden = share == null;
    gauge.firstChild.style.width = `${100 * Math.min(Math.max(share ?? 0, 0), 1)}%`;
    gauge.classList.toggle("over", share > 1);
  };
  return { root, update };
}

const limitOf = ({ latency_us, margin }) => (latency_us == null || margin == null ? null : latency_us / (1 - margin));

/** What the held setting saves against the last window of the default, where both were at about the same load. */
function saved(standing, was) {
  if (!was?.power_w || standing.power_w == null || standing.doing !== "hold" || standing.current === false) return null;
  if (Math.abs(standing.qps / was.qps - 1) > SAME_LOAD) return null;
  return { w: was.power_w - standing.power_w, share: 1 - standing.power_w / was.power_w };
}

function saving(past) {
  const { standing, default: was } = past, { power_w: known, default_w: of } = standing.saved ?? {};
  if (known) {
    const ends = known.low == null || known.high == null ? "too few switchbacks for an interval" : `95 % interval ${format.watts(known.low)} to ${format.watts(known.high)}`;
    return [of ? format.percent(known.value / of, 1) : format.watts(known.value), `${format.watts(known.value)} in the last days; ${ends}`];
  }
  const single = saved(standing, was);
  if (single) return [format.percent(single.share), `${format.watts(single.w)}; the last window against the default's, without an interval`];
  return ["–", standing.mode === "observe" ? "nothing is applied in mode observe" : "no window of the default at this load to compare with"];
}

export function tiles() {
  const all = { margin: tile("Margin to the SLO"), power: tile("Power"), saving: tile("Saving"), load: tile("Load"), budget: tile("Error budget left") };
  const root = el("ul", { class: "tiles" }, Object.values(all).map((each) => each.root));
  function update(past) {
    const s = past.standing, limit = limitOf(s), was = past.default;
    const before = s.current === false ? ", before the setting now in effect" : "";
    const seen = limit == null ? "no window yet" : `${format.latency(s.latency_us)} of ${format.latency(limit)}${before}`;
    all.margin.update(format.percent(s.margin), seen, limit == null ? null : s.latency_us / limit);
    const drew = was?.power_w == null ? "the default was not measured" : `the default drew ${format.watts(was.power_w)} at ${format.load(was.qps)}, ${format.time(was.end_s)}`;
    all.power.update(format.watts(s.power_w), drew);
    all.saving.update(...saving(past));
    all.load.update(format.number(s.qps), "requests/s in the last window");
    all.budget.root.hidden = s.budget_left == null;
    all.budget.update(format.percent(s.budget_left, 1), s.budget_left === 0 ? "nothing is tried" : "trials count, too", 1 - (s.budget_left ?? 1));
  }
  return { root, update };
}
