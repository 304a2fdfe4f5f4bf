// The page: which view is shown, what it knows, and what keeps it up to date.

import * as api from "/api.js";
import { listen } from "/feed.js";
import { fleetView } from "/fleet.js";
import { hear, past as pastOf } from "/past.js";
import { say } from "/dom.js";
import { saysSearch } from "/log.js";
import { serviceView } from "/service.js";

const main = document.getElementById("main"), link = document.getElementById("link"), said = document.getElementById("said");
const dialog = document.getElementById("ask"), tokenButton = document.getElementById("token");
const known = { standings: new Map(), acts: false, past: null };
const AGES_MS = 5000, MAP_REST_MS = 700, SAID_MS = 8000;
let view = null, shown = null, drawing = false, mapTimer = null;

let hush = null;

/** Says it, also to who can't see the page, for some seconds. */
function announce(text) {
  say(said, text);
  clearTimeout(hush);
  hush = setTimeout(() => say(said, ""), SAID_MS);
}

/** The service of the address, or the only one; null for all of them. */
function wanted() {
  const name = decodeURIComponent(location.hash.replace(/^#\/?/, ""));
  if (known.standings.has(name)) return name;
  return known.standings.size === 1 ? [...known.standings.keys()][0] : null;
}

function draw() {
  if (drawing || document.hidden) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    if (view) view.update(shown === null ? [...known.standings.values()] : known.past);
  });
}

async function show() {
  const name = wanted();
  if (view && shown === name) return draw();
  if (name !== null) {
    const answer = await api.service(name);
    known.past = pastOf(answer);
    if (answer.damaged.length) announce(`Left out: ${answer.damaged.join("; ")}`);
  }
  if (name !== wanted()) return show();
  const moved = view !== null;
  shown = name;
  view = name === null ? fleetView(known.acts ? act : null) : serviceView(name, known.standings.size > 1, known.acts ? act : null);
  document.title = name === null ? "BayOp" : `${name}: BayOp`;
  main.replaceChildren(view.root);
  if (moved) main.focus();
  drawing = false;
  if (name !== null) view.update(known.past);
  draw();
  renewMap();
}

/** Looks at everything anew. */
async function look() {
  try {
    const answer = await api.services();
    known.standings = new Map(answer.services.map((s) => [s.service, s]));
    known.acts = answer.acts;
    tokenButton.hidden = !answer.acts;
    shown = null;
    view = null;
    await show();
  } catch (error) {
    refused(error);
  }
}

function renewMap() {
  if (mapTimer !== null || shown === null) return;
  mapTimer = setTimeout(async () => {
    mapTimer = null;
    const name = shown;
    if (name === null || known.standings.get(name)?.mode !== "apply") return;
    try {
      const map = await api.map(name);
      if (!map || name !== shown) return;  // before the first trial there is none
      known.past.map = map;
    } catch {
      return;
    }
    draw();
  }, MAP_REST_MS);
}

function heard(name, word) {
  if (name === "hello") return;
  if (name === "missed" || name === "reloaded" || name === "start") return look();
  if (name === "service") known.standings.set(word.service, word);
  if (word.service === undefined || word.service !== shown || !known.past) return draw();
  hear(known.past, name, word);
  if (name === "search") announce(`${word.service}: ${saysSearch({ ...word, number: word.search })}`);
  if (name === "trouble") announce(`${word.service}: ${word.message}`);
  if (name === "search" || (name === "window" && word.phase === "trial") || (name === "watching")) renewMap();
  draw();
}

function linked(state) {
  const words = { live: "live", lost: "not connected; trying again", refused: "a token is needed" };
  say(link, words[state]);
  link.className = `link ${state === "live" ? "live" : "lost"}`;
  if (state === "live") look();
  if (state === "refused") askToken("What services do is shown to who has a token.");
}

async function act(name, word) {
  if (!api.token()) return askToken("Who acts on services says so by a token. It is kept until this tab is closed.", () => act(name, word));
  try {
    const { events } = await api.act(name, word);
    for (const standing of events) heard("service", standing);
    announce(name === null ? { pause: "All services are paused.", resume: "All services go on." }[word]
      : { pause: `${name} is paused.`, resume: `${name} goes on.`, trigger: `${name} begins a search.` }[word]);
  } catch (error) {
    refused(error, () => act(name, word));
  }
}

function refused(error, again = look) {
  if (error.status === 401) {
    api.keepToken(null);
    askToken(error.message, again);
  } else announce(error.message);
}

let then = null;
function askToken(why, next = () => location.reload()) {
  then = next;
  say(document.getElementById("ask-why"), why);
  document.getElementById("ask-token").value = "";
  if (!dialog.open) dialog.showModal();
}
dialog.querySelector("form").addEventListener("submit", () => {
  api.keepToken(document.getElementById("ask-token").value.trim());
  then?.();
});
document.getElementById("ask-no").addEventListener("click", () => dialog.close());
tokenButton.addEventListener("click", () => askToken("Who acts on services says so by a token. It is kept until this tab is closed.", look));
window.addEventListener("hashchange", show);
document.addEventListener("visibilitychange", draw);
setInterval(draw, AGES_MS);
listen(heard, linked);
