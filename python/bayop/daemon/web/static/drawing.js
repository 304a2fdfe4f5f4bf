// A drawing as wide as its place: drawn anew when that, or what it shows, changes.

import { el, svg } from "/dom.js";

/**
 * `draw(width)` gives { title, height, children, readings }; a reading is { x, text } for pointer and arrow keys.
 */
export function drawing(label, draw) {
  const output = el("output", { "aria-live": "off" });
  const frame = el("div", { class: "drawing", tabindex: 0, role: "group", "aria-label": `${label}; arrow keys read it` });
  const root = el("figure", {}, frame, output);
  let readings = [], cursor = null, at = -1, height = 0, width = 0;

  function read(index) {
    at = Math.min(Math.max(index, 0), readings.length - 1);
    if (at < 0) return;
    output.setAttribute("aria-live", document.activeElement === frame ? "polite" : "off");
    output.textContent = readings[at].text;
    cursor.setAttribute("d", `M${readings[at].x} 0V${height}`);
  }
  frame.addEventListener("pointermove", (event) => {
    const x = event.clientX - frame.getBoundingClientRect().left;
    const distance = readings.map((reading) => Math.abs(reading.x - x));
    read(distance.indexOf(Math.min(...distance)));
  });
  frame.addEventListener("keydown", (event) => {
    const to = { ArrowLeft: (at < 0 ? readings.length : at) - 1, ArrowRight: at + 1, Home: 0, End: readings.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    read(to);
  });

  function update() {
    width = frame.clientWidth;
    if (!width) return;
    const drawn = draw(width);
    readings = drawn.readings;
    height = drawn.height;
    cursor = svg("path", { class: "cursor" });
    frame.replaceChildren(svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": drawn.title },
      ...drawn.children, cursor));
    at = -1;
  }
  new ResizeObserver(() => frame.clientWidth !== width && update()).observe(frame);
  return { root, update };
}

/** An entry of a legend: a sample of a line or a field, and its words. */
export const key = (text, ...sample) => el("li", {}, svg("svg", { viewBox: "0 0 24 12", "aria-hidden": "true" }, ...sample), text);
