// Copyright (c) 2026, gpuhost.tuning contributors
// GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later
// All hosts, one a row; the head of a column sorts by it.

const hostOrder = {column: null, down: true};

const HOST_COLUMNS = [
  ["Host", (host) => host.name],
  ["Model", (host) => host.model],
  ...packed.priorities.map((name, index) => [name, (host) => host.things[index]]),
  ["Not judged", (host) => host.unknown],
  ["Drift", (host) => host.driftNumbers.length],
  ["Last change", (host) => host.runs.length ? `${host.runs[0].state}: ${outcomesOf(host.runs[0])}` : ""],
  ["Audited", (host) => host.at],
];

function viewHosts(selection, redraw) {
  const list = sortHosts(selection.map(({host}) => host));
  const head = HOST_COLUMNS.map(([label], column) => {
    const used = hostOrder.column === column;
    return el("th", {scope: "col", "aria-sort": used ? (hostOrder.down ? "descending" : "ascending") : null},
      el("button", {type: "button", id: `sort-${column}`, onclick: () => {
        Object.assign(hostOrder, {column, down: used ? !hostOrder.down : typeof HOST_COLUMNS[column][1](hosts[0])
          === "number"});
        redraw();
        document.getElementById(`sort-${column}`).focus();
      }}, label, used ? (hostOrder.down ? " ▾" : " ▴") : ""));
  });
  return [el("h2", {tabindex: "-1"}, "Hosts"),
    ...(list.length ? growingTable("Hosts with the things to do on them, by priority", head, list, (host) =>
      row(hostLink(host), host.model,
        ...host.things.map((number, index) => numberCell(number, packed.priorities[index])),
        numberCell(host.unknown, "unknown"), numberCell(host.driftNumbers.length),
        HOST_COLUMNS[packed.priorities.length + 4][1](host), when(host.at)))
      : [nothing("No host matches the filters.")])];
}

function sortHosts(list) {
  const worst = (a, b) => {
    for (let index = 0; index < a.things.length; index += 1) {
      if (a.things[index] !== b.things[index]) return b.things[index] - a.things[index];
    }
    return b.unknown - a.unknown;
  };
  if (hostOrder.column === null) return list.sort(worst);
  const key = HOST_COLUMNS[hostOrder.column][1];
  const order = new Intl.Collator("en", {numeric: true}).compare;
  return list.sort((a, b) => (typeof key(a) === "number" ? key(a) - key(b) : order(key(a), key(b)))
    * (hostOrder.down ? -1 : 1));
}
