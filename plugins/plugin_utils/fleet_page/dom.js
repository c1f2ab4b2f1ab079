// Copyright (c) 2026, gpuhost.tuning contributors
// GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later
// Elements of the page. Text from a host only ever becomes a text node or the value of an attribute: no markup is parsed.

function el(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

// A drawing from its shapes (_render/svg.py): only these elements and attributes, whatever the data says.
const SHAPES = ["rect", "line", "circle", "text"];
const PLACES = ["x", "y", "width", "height", "x1", "y1", "x2", "y2", "cx", "cy", "r", "text-anchor"];

function drawing({title, description, width, height, shapes}) {
  const make = (name, attributes, words) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of attributes) element.setAttribute(key, value);
    if (words) element.append(words);
    return element;
  };
  const whole = make("svg", [["class", "drawing"], ["role", "img"], ["width", width], ["height", height],
    ["viewBox", `0 0 ${width} ${height}`]]);
  whole.append(make("title", [], title), make("desc", [], description),
    ...shapes.filter(([name]) => SHAPES.includes(name)).map(([name, look, words, ...places]) =>
      make(name, [["class", look], ...pairs(places).filter(([key]) => PLACES.includes(key))], words)));
  return whole;
}

// A long text may be broken anywhere, a short one nowhere but between words.
const code = (text) => el("span", {class: text.length > 40 ? "code long" : "code"}, text);
const quiet = (text) => el("span", {class: "quiet"}, text);
const many = (number, one, more) => `${number} ${number === 1 ? one : more || `${one}s`}`;

// A table that scrolls by itself where it is wider than the page; head cells are texts, or header cells made already.
function table(caption, head, rows, attributes) {
  const cells = head.map((cell) => typeof cell === "string" ? el("th", {scope: "col"}, cell) : cell);
  return el("div", {class: "scroll", role: "region", "aria-label": caption, tabindex: "0"},
    el("table", attributes, el("caption", null, caption), el("thead", null, el("tr", null, cells)),
      el("tbody", null, rows)));
}

// The first cell of a row heads it.
const row = (first, ...cells) => el("tr", null, el("th", {scope: "row"}, first), ...cells.map((cell) =>
  cell instanceof HTMLTableCellElement ? cell : el("td", null, cell)));
const when = (time) => el("td", {class: "short"}, time);
const numberCell = (number, className) => el("td", {class: `number ${number ? className || "" : "quiet"}`},
  String(number));

// A table of many rows begins with a part of them: a thousand rows are drawn when somebody asks for them.
function growing(items, make, step, target) {
  let shown = 0;
  const more = el("button", {type: "button", onclick: () => grow(true)});
  function grow(asked) {
    const first = shown;
    target.append(...items.slice(shown, shown + step).map(make));
    shown = Math.min(items.length, shown + step);
    more.textContent = `Show ${Math.min(step, items.length - shown)} more of ${items.length - shown}`;
    if (shown >= items.length) more.remove();
    if (asked && target.children[first]) {
      const link = target.children[first].querySelector("a, button");
      if (link) link.focus();
    }
  }
  grow(false);
  return shown < items.length ? more : null;
}

function growingTable(caption, head, items, make, attributes) {
  const wrapped = table(caption, head, [], attributes);
  const more = growing(items, make, 100, wrapped.querySelector("tbody"));
  return more ? [wrapped, more] : [wrapped];
}
