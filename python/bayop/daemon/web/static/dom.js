// Elements of the page, without markup in strings: what services are called can't become any.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child != null));
  return element;
}

/** An element with attributes (`onclick` listens) and children; null ones are left out. */
export const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);

/** The same, of a drawing. */
export const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

/** Changes an element's text, where it differs: a screen reader hears changes only. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** A table that scrolls by itself. */
export function table(caption, head, rows) {
  const cells = (row) => row.map((cell, i) => el(i ? "td" : "th", i ? {} : { scope: "row" }, cell));
  return el("div", { class: "table", tabindex: 0, role: "group", "aria-label": caption },
    el("table", {}, el("caption", { class: "unseen" }, caption),
      el("thead", {}, el("tr", {}, head.map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, cells(row))))));
}

/** Folded away until somebody opens it; `make` gives what it then holds, and `refresh` renews that. */
export function folded(summary, make) {
  const inner = el("div");
  const root = el("details", { ontoggle: () => refresh() }, el("summary", {}, summary), inner);
  const refresh = () => root.open && inner.replaceChildren(make());
  return { root, refresh };
}
