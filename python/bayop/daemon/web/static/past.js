// What is remembered of one service, kept up to date by what happens. Rows of the state and words of the stream become one form.

const MOST = { windows: 360, searches: 30, events: 100 };
const OWN = ["event", "time", "service"];
const TABLES = { window: "windows", search: "searches" };

const seconds = (word) => Date.parse(word.time) / 1000;

const ofRow = (row) => ({ ...row, end_s: row.start_s + row.duration_s });

function ofEvent({ time_s, event, fields }) {
  return { time_s, name: event, fields };
}

/** Of an answer of the daemon. */
export function past(answer) {
  return {
    standing: answer.service,
    windows: answer.windows.map(ofRow),
    searches: answer.searches,
    events: answer.events.map(ofEvent),
    default: answer.default && ofRow(answer.default),
    map: null,
  };
}

/** Takes in a word of the stream. */
export function hear(past, name, word) {
  const at = seconds(word);
  if (name === "service") past.standing = word;
  else if (name === "window") {
    const window = { ...word, end_s: at, start_s: at - word.duration_s };
    if (window.phase === "default" && window.cut_short == null) past.default = window;
    past.windows.push(window);
  } else if (name === "search") past.searches.push({ ...word, number: word.search, end_s: at });
  else {
    const fields = Object.fromEntries(Object.entries(word).filter(([key]) => !OWN.includes(key)));
    past.events.push({ time_s: at, name, fields });
  }
  const table = TABLES[name] ?? "events";
  past[table].splice(0, past[table].length - MOST[table]);
}

/** The windows of the search that is under way, or of the last one; and that search, once it has ended. */
export function lastSearch({ windows, searches }) {
  const numbers = windows.filter((window) => window.search != null).map((window) => window.search);
  const ended = searches.at(-1);
  const number = Math.max(...numbers, ended?.number ?? 0);
  return {
    number,
    trials: windows.filter((window) => window.search === number && window.phase === "trial"),
    ended: ended?.number === number ? ended : null,
  };
}
