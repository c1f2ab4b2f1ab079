// Copyright (c) 2026, gpuhost.tuning contributors
// GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later
// What is where: the address after # names the view, so that back and bookmarks work.

const VIEWS = [["checks", "Checks", viewChecks], ["matrix", "Hosts by checks", viewMatrix],
  ["hosts", "Hosts", viewHosts], ["outliers", "Odd ones", viewOutliers], ["drift", "Drift", viewDrift],
  ["guests", "Guests", viewGuests], ["runs", "Runs", viewRuns]];
const content = document.getElementById("content");
const views = document.getElementById("views");

function place() {
  const [, view, ...rest] = location.hash.split("/");
  let name = rest.join("/");
  try {
    name = decodeURIComponent(name);
  } catch (error) {
    // An address that somebody typed: shown as it is.
  }
  return {view: view || VIEWS[0][0], name};
}

function draw() {
  const {view, name} = place();
  const selection = chosen();
  const found = VIEWS.find(([id]) => id === view);
  content.replaceChildren(...(view === "host" ? viewHost(name) : (found || VIEWS[0])[2](selection, draw)));
  for (const link of document.querySelectorAll("nav a")) {
    if (link.getAttribute("href") === `#/${view}`) {
      link.setAttribute("aria-current", "page");
      // On a phone the row of views is wider than the screen.
      views.scrollLeft = link.offsetLeft - (views.clientWidth - link.offsetWidth) / 2;
    } else link.removeAttribute("aria-current");
  }
  document.title = view === "host" ? `${name} - GPU hosts` : `${(found || VIEWS[0])[1]} - GPU hosts`;
  document.getElementById("status").textContent = `${many(selection.length, "host")} of ${hosts.length} shown`;
}

function head() {
  const sum = (count) => hosts.reduce((total, host) => total + count(host), 0);
  const fine = hosts.filter((host) => !host.things.some(Boolean)).length;
  const tiles = [["hosts", hosts.length, ""],
    ...packed.priorities.map((name, index) => [`${name} to do`, sum((host) => host.things[index]), name]),
    ["unknown", sum((host) => host.unknown), "unknown"], ["hosts with nothing to do", fine, "pass"]];
  document.getElementById("totals").append(...tiles.map(([label, number, name]) =>
    el("div", null, el("dt", null, label), el("dd", {class: number ? name : "quiet"}, String(number)))));
  const things = sum((host) => host.things.reduce((total, number) => total + number, 0));
  document.getElementById("made").textContent = `${many(things, "thing")} to do in `
    + `${many(sum((host) => host.places), "place")}. Created ${packed.made}.`;
  views.append(...VIEWS.map(([id, label]) =>
    el("li", null, el("a", {href: `#/${id}`}, label))));
  if (packed.problems.length) {
    document.querySelector("header").append(...packed.problems.map(([name, text]) =>
      el("p", {class: "note"}, `${name}: ${text}`)));
  }
}

head();
buildFilters(draw);
addEventListener("hashchange", () => {
  if (!location.hash.startsWith("#/")) return;
  draw();
  const heading = content.querySelector("h2");
  if (heading) heading.focus();
  scrollTo(0, 0);
});
draw();
document.documentElement.dataset.ready = "true";
