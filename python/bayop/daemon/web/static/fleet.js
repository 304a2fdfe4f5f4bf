// All services, those that need somebody first.

import { el, say } from "/dom.js";
import * as format from "/format.js";

const FEW = 8;
const URGENT = { trouble: 0, "fall-back": 1, paused: 2 };

function row(name) {
  const cells = { doing: el("span", { class: "badge" }), setting: el("span", { class: "soft" }), margin: el("span", { class: "right" }), power: el("span", { class: "right" }), more: el("span", { class: "wide bad" }) };
  const root = el("li", {}, el("a", { href: `#/${encodeURIComponent(name)}` },
    el("span", { class: "name" }, name), el("span", {}, cells.doing), cells.setting, cells.margin, cells.power, cells.more));
  function update(s) {
    const [text, kind] = format.doing(s);
    say(cells.doing, text);
    cells.doing.className = `badge ${kind}`;
    say(cells.setting, format.inEffect(s));
    say(cells.margin, s.margin == null ? "" : s.margin < 0 ? `${format.percent(-s.margin)} over the SLO` : `${format.percent(s.margin)} margin`);
    cells.margin.className = s.margin < 0 ? "right bad" : "right";
    say(cells.power, s.power_w == null ? "" : format.watts(s.power_w));
    say(cells.more, s.trouble ?? "");
    cells.more.hidden = !s.trouble;
  }
  return { root, update };
}

function actions(act) {
  // Nothing can be done before it is known what is going on.
  const button = (word, text) => el("button", { type: "button", disabled: true, onclick: () => act(null, word) }, text);
  const all = { pause: button("pause", "Pause all"), resume: button("resume", "Resume all") };
  const root = el("div", { class: "buttons", role: "group", "aria-label": "Act on all services" }, Object.values(all));
  function update(standings) {
    const paused = standings.filter((s) => s.paused_by.includes("operator")).length;
    all.pause.disabled = paused === standings.length;
    all.resume.disabled = !paused;
  }
  return { root, update };
}

/** The view of all services; `act` is null where nobody may act. */
export function fleetView(act) {
  const list = el("ul", { class: "fleet", "aria-label": "Services" }), sums = el("p", { class: "sums", role: "status" });
  const filter = el("input", { type: "search", id: "filter", oninput: () => update(known) });
  const chosen = el("p", { class: "filter", hidden: true }, el("label", { for: "filter" }, "Show those named"), filter);
  const buttons = act && actions(act);
  const root = el("section", { "aria-labelledby": "fleet" }, el("h1", { id: "fleet" }, "Services"), sums, buttons?.root, chosen, list);
  const rows = new Map();
  let known = [], order = "";
  function update(standings) {
    known = standings;
    buttons?.update(known);
    chosen.hidden = known.length <= FEW;
    const wanted = known.filter((s) => s.service.toLowerCase().includes(filter.value.trim().toLowerCase()));
    const sorted = wanted.toSorted((a, b) => (URGENT[a.doing] ?? 9) - (URGENT[b.doing] ?? 9));
    for (const s of sorted) {
      if (!rows.has(s.service)) rows.set(s.service, row(s.service));
      rows.get(s.service).update(s);
    }
    const names = sorted.map((s) => s.service).join("\n");
    if (names !== order) list.replaceChildren(...sorted.map((s) => rows.get(s.service).root));
    order = names;
    const power = known.reduce((sum, s) => sum + (s.power_w ?? 0), 0), count = (word) => known.filter((s) => s.doing === word).length;
    say(sums, `${known.length} services: ${count("hold")} hold, ${count("trial")} search, ${count("trouble")} in trouble, ${count("paused")} paused; ${format.watts(power)} together.`);
  }
  return { root, update };
}
