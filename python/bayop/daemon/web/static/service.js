// One service: where it stands, what it saves, its search as it happens, its windows, events and health.

import { el, folded, say, table } from "/dom.js";
import * as format from "/format.js";
import { log, saysSearch } from "/log.js";
import { legend as mapLegend, searchMap } from "/map.js";
import { lastSearch } from "/past.js";
import { tiles } from "/tiles.js";
import { inWords, latencyLimit, legend, overTime } from "/windows.js";

const limitOf = ({ standing: s }) => (s.latency_us == null || s.margin == null ? null : s.latency_us / (1 - s.margin));

const section = (title, ...children) => el("section", { "aria-label": title }, el("h2", {}, title), ...children);

function notices() {
  const root = el("div");
  function update({ standing: s }) {
    const said = [];
    if (s.paused_by.length) said.push(["", `Paused by ${s.paused_by.join(" and ")}: the machine ${s.restored ? "has" : "is not known to have"} its own settings, and nothing is searched.`]);
    if (s.quiet_until) said.push(["", `Quiet hours until ${format.time(Date.parse(s.quiet_until) / 1000)}: nothing is tried.`]);
    if (s.waits_for) said.push(["", `Waits for ${s.waits_for}: of its group one is searched at a time.`]);
    if (s.budget_left === 0) said.push(["bad", "The error budget is spent: nothing is tried before the period has rolled on."]);
    if (s.trouble) said.push(["bad", s.trouble]);
    const text = said.map(([, words]) => words).join("\n");
    if (root.dataset.text === text) return;
    root.dataset.text = text;
    root.replaceChildren(...said.map(([kind, words]) => el("p", { class: `notice ${kind}` }, words)));
  }
  return { root, update };
}

function actions(name, act) {
  const button = (word, text) => el("button", { type: "button", onclick: () => act(name, word) }, text);
  const all = { pause: button("pause", "Pause"), resume: button("resume", "Resume"), trigger: button("trigger", "Search now") };
  const root = el("div", { class: "buttons", role: "group", "aria-label": `Act on ${name}` }, Object.values(all));
  function update({ standing: s }) {
    all.pause.disabled = s.paused_by.includes("operator");
    all.resume.disabled = !s.paused_by.includes("operator");
    all.trigger.disabled = s.mode !== "apply" || !["hold", "default", "fall-back"].includes(s.doing);
  }
  return { root, update };
}

function search() {
  const title = el("p"), none = el("p", { class: "soft" }), map = searchMap();
  const keys = el("ul", { class: "legend" }), fixed = el("p", { class: "note" });
  let past = null;
  const rows = () => lastSearch(past).trials.map((t, i) => [
    `${i + 1}`, format.setting(t.setting), format.watts(t.power_w), format.latency(t.latency_us), t.meets_slo ? "met" : "missed", t.cut_short ?? "",
  ]);
  const list = folded("The trials as a table", () =>
    table("Trials, in order", ["trial", "setting", "power", "latency", "SLO", "cut short"], rows()));
  const root = section("Search", title, none, map.root, keys, fixed, list.root);

  function update(next) {
    past = next;
    const { number, trials, ended } = lastSearch(past), { standing: s, map: known } = past;
    const under = `Search ${number} is under way: trial ${trials.length + (s.doing === "trial" ? 1 : 0)}.`;
    const idle = s.mode === "observe" ? "In mode observe nothing is searched." : "Nothing was searched yet.";
    say(title, ended ? `${saysSearch(ended).replace(/^s/, "S")}.` : number ? under : idle);
    const shown = Boolean(known);
    for (const part of [map.root, keys, fixed]) part.hidden = !shown;
    list.root.hidden = !trials.length;
    none.hidden = shown || !number;
    say(none, "The model's map comes with the first trial after the machine was reached.");
    list.refresh();
    if (!shown) return;
    const held = Object.entries(known.fixed);
    say(fixed, `At ${format.load(known.qps)}, from ${known.observations} measured settings${held.length ? `; with ${format.setting(known.fixed)}` : ""}. Hatched: latency expected over ${format.latency(known.limit_us)}.`);
    keys.replaceChildren(...mapLegend(known));
    map.update(past);
  }
  return { root, update };
}

function health() {
  const root = el("dl", { class: "facts" });
  function update({ standing: s, events, windows }) {
    const reached = events.findLast(({ name }) => name === "watching"), trouble = s.doing === "trouble" || s.trouble;
    const last = windows.at(-1);
    const facts = [
      ["agent and source", trouble ? `trouble: ${s.trouble}` : s.doing === "beginning" ? "being reached" : "answer", trouble ? "bad" : ""],
      ["what is measured", reached?.fields.description ?? "not known yet"],
      ["last window", last ? `${format.time(last.end_s)}, ${format.ago(Date.now() / 1000 - last.end_s)}` : "none yet"],
      ["in effect", format.inEffect(s)],
      ["the machine's own settings", s.restored ? "in effect" : s.setting ? "come back when it is let go of" : "not known to be in effect"],
      ["mode", s.mode],
    ];
    root.replaceChildren(...facts.flatMap(([name, text, kind]) => [el("dt", {}, name), el("dd", kind ? { class: kind } : {}, text)]));
  }
  return { root, update };
}

/** The view of a service; `act` is null where nobody may act. */
export function serviceView(name, many, act) {
  const badge = el("span", { class: "badge" }), slo = el("span", { class: "soft" });
  const latency = overTime({
    label: "Latency at the SLO's quantile", kind: "latency", get: (w) => w.latency_us, say: format.latency, mark: (us) => `${format.number(us)} µs`, top: latencyLimit,
    rule: (past) => (limitOf(past) == null ? null : { at: limitOf(past), kind: "limit", text: "the SLO's limit" }),
  });
  const power = overTime({
    label: "Power", kind: "power", get: (w) => w.power_w, say: format.watts, mark: (w) => `${format.number(w, w % 1 ? 1 : 0)} W`, top: (most) => most,
    rule: (past) => (past.default?.power_w == null ? null : { at: past.default.power_w, kind: "was", text: "the default drew" }),
  });
  const parts = { notices: notices(), ...(act ? { actions: actions(name, act) } : {}), tiles: tiles(), search: search(), latency, power, words: inWords(), log: log(), health: health() };
  const root = el("article", { "aria-labelledby": "name" },
    many ? el("p", {}, el("a", { href: "#/" }, "All services")) : null,
    el("div", { class: "headline" }, el("h1", { id: "name" }, name), badge, slo),
    parts.notices.root, parts.actions?.root, parts.tiles.root, parts.search.root,
    section("Latency", latency.root), section("Power", power.root, el("ul", { class: "legend" }, legend()), parts.words.root),
    section("Events", parts.log.root), section("Health", parts.health.root));
  function update(past) {
    if (!past.standing) return;
    const [text, kind] = format.doing(past.standing);
    say(badge, text);
    badge.className = `badge ${kind}`;
    say(slo, `${past.standing.slo}; ${format.inEffect(past.standing)}`);
    for (const part of Object.values(parts)) part.update(past);
  }
  return { root, update };
}
