// What has happened, in words.

import { el } from "/dom.js";
import * as format from "/format.js";

const SHOWN = 60;

const by = (fields) => (fields.by ? ` by ${fields.by}` : fields.file ? `: ${fields.file} is there` : "");

const SAYS = {
  watching: (f) => `reached the machine: ${f.description ?? ""}`,
  trouble: (f) => [`let go of the machine: ${f.message}`, f.hint, `again in ${f.again_in_s} s`].filter(Boolean).join("; "),
  paused: (f) => `paused${by(f)}`,
  resumed: (f) => `goes on${f.by ? by(f) : ""}`,
  asked: (f) => `a search was asked for${by(f)}`,
  forgotten: (f) => `forgot ${f.observations} observations${by(f)}`,
  halted: (f) => (f.why === "quiet" ? "quiet hours: nothing is tried" : "the error budget is spent: nothing is tried"),
  unhalted: () => "may search again",
  waits: (f) => `waits for ${f.waits_for}: of its group one is searched at a time`,
  polished: (f) => `${f.missed_slo ? "missed the SLO, so again" : "is sure of a better one: holds"} ${format.setting(f.setting)}`,
  "let-go": (f) => `the default is back: ${format.setting(f.setting)} saves nothing`,
  "no-advice": (f) => `no advice: ${f.source} is too far from this machine, or this load`,
  advice: (f) => `would hold ${format.setting(f.setting)}, which saves ${format.watts(f.saving?.power_w)} (95 %: ${format.watts(f.saving?.low_w)} to ${format.watts(f.saving?.high_w)})`,
};

const plain = (value) => (value !== null && typeof value === "object" ? JSON.stringify(value) : String(value));

function saysEvent({ name, fields }) {
  if (SAYS[name]) return SAYS[name](fields);
  return `${name}: ${Object.entries(fields).map(([key, value]) => `${key} ${plain(value)}`).join(", ")}`;
}

export function saysSearch(search) {
  const trials = `${search.trials} trial${search.trials === 1 ? "" : "s"}`;
  const result = search.setting ? `found ${format.setting(search.setting)}` : "the default stays";
  return `search ${search.number} (${search.reason}) ended after ${trials}, ${search.stopped}: ${result}`;
}

function saysMiss(window) {
  if (window.cut_short) return `${window.phase}: cut short, ${window.cut_short}`;
  return `${window.phase}: missed the SLO with ${format.latency(window.latency_us)} at ${format.load(window.qps)}`;
}

const BAD = ["trouble", "paused", "halted"];

/** Everything worth a line, newest first: events, ends of searches, and windows outside of searches that missed the SLO. */
export function lines({ events, searches, windows }) {
  const misses = windows.filter((window) => !window.meets_slo && window.phase !== "trial");
  return [
    ...events.map((event) => ({ at: event.time_s, text: saysEvent(event), bad: BAD.includes(event.name) })),
    ...searches.map((search) => ({ at: search.end_s, text: saysSearch(search), bad: false })),
    ...misses.map((window) => ({ at: window.end_s, text: saysMiss(window), bad: true })),
  ].sort((a, b) => b.at - a.at).slice(0, SHOWN);
}

export function log() {
  const root = el("ol", { class: "log", "aria-label": "Events, newest first" });
  const update = (past) => root.replaceChildren(...lines(past).map(({ at, text, bad }) =>
    el("li", {}, el("time", { datetime: new Date(1000 * at).toISOString() }, format.time(at)),
      el("span", bad ? { class: "bad" } : {}, text))));
  return { root, update };
}
