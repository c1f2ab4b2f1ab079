// Copyright (c) 2026, gpuhost.tuning contributors
// GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later
// Hosts by checks, grouped by priority: a cell says the worst of what a check finds on a host.

const MARKS = {fail: "✗", unknown: "?", pass: "✓", not_applicable: "–", waived: "w"};

function viewMatrix(selection) {
  const columns = tallyChecks(selection).filter((tally) => tally.improve.size || tally.hosts[UNKNOWN].size)
    .sort((a, b) => a.priority - b.priority);
  const groups = packed.priorities.map((name, priority) => [name, columns.filter((one) => one.priority === priority)])
    .filter(([, members]) => members.length);
  const heading = el("h2", {tabindex: "-1"}, "Hosts by checks");
  if (!columns.length) return [heading, nothing("Nothing to improve with these filters.")];
  const head = el("thead", null,
    el("tr", null, el("th", {scope: "col", rowspan: "2"}, "Host"), groups.map(([name, members]) =>
      el("th", {scope: "colgroup", colspan: members.length}, el("span", {class: name}, name)))),
    el("tr", null, columns.map((one) => el("th", {scope: "col", class: "check", title: one.check.title},
      one.check.id))));
  const body = el("tbody");
  const legend = "✗ to improve, ? unknown, ✓ passed, – not applicable, w waived, · not part of the audit of this "
    + "host. Checks without findings on the hosts shown are omitted.";
  const more = growing(selection, (one) => matrixRow(one, columns), 50, body);
  return [heading, el("p", {class: "quiet"}, legend), el("div", {class: "scroll", role: "region", "aria-label": "Hosts by checks", tabindex: "0"},
    el("table", {class: "matrix"}, el("caption", null, "Worst finding of each check"), head, body)), more].filter(Boolean);
}

// A filter chooses hosts and checks; a cell says what its check found on its host, whatever the filter.
function matrixRow({host}, columns) {
  const worst = worstByCheck(host.entryNumbers);
  return row(hostLink(host), ...columns.map((column) => {
    const one = worst.get(column.key);
    if (!one) return el("td", {class: "not_applicable"}, el("span", {role: "img", "aria-label": "not audited"}, "·"));
    const name = one.verdict === FAIL && !one.toImprove ? "waived" : packed.verdicts[one.verdict];
    if (name === "pass" || name === "not_applicable") return el("td", {class: name}, MARKS[name]);
    return el("td", {class: name, title: `${column.check.id}: ${verdictWord(name)}, is ${one.actual}`},
      el("span", {role: "img", "aria-label": verdictWord(name)}, MARKS[name]));
  }));
}
