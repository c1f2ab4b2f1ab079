// Copyright (c) 2026, gpuhost.tuning contributors
// GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later
// Who differs: from the others of a model, from the run before, and what the last runs did.

function viewOutliers(selection) {
  const wanted = new Set(selection.map(({host}) => host));
  const check = fields.check.value === "" ? null : checks[Number(fields.check.value)].id;
  const list = outliers.map((one) => ({...one, odd: one.odd.filter(([host]) => wanted.has(host))}))
    .filter((one) => one.odd.length && (check === null || (one.kind === "check" && one.what === check)));
  return [el("h2", {tabindex: "-1"}, "Odd ones within a model"),
    el("p", {class: "quiet"}, "What more than half of the hosts of one model have in common, and which hosts differ. A model needs "
      + "at least three hosts."),
    ...(list.length ? growingTable("Outliers, single ones first", ["What", "Model", "Most have", "But"], list,
      (one) => row([code(one.what), one.kind === "fact" ? quiet(" (fact)") : null].filter(Boolean), one.model,
        [code(one.majority), ` (${one.having} of ${one.hosts})`],
        shortList(one.odd.map(([host, text]) => el("span", null, hostLink(host), ": ", code(text))), 10)))
      : [nothing("No host differs from the majority of its model.")])];
}

function driftRow(host, one, alone) {
  const end = (verdict, text) => verdict ? [code(text), quiet(` ${verdictWord(verdict)}`)] : quiet("not there");
  const cells = [code(one.check.id), one.subject ? code(one.subject) : "host", el("td", null, end(one.wasVerdict,
    one.was)), el("td", null, end(one.isVerdict, one.is))];
  return alone ? row(...cells) : row(hostLink(host), ...cells, when(host.since));
}

// With `alone` the table is about one host, on that host's own page.
function driftTable(list, caption, alone) {
  const items = list.flatMap((host) => host.drift().map((one) => [host, one]));
  const head = ["Check", "Where", "Was", "Is"];
  return el("div", null, growingTable(caption, alone ? head : ["Host", ...head, "Since"], items,
    ([host, one]) => driftRow(host, one, alone)));
}

function viewDrift(selection) {
  const list = selection.map(({host}) => host).filter((host) => host.driftNumbers.length);
  return [el("h2", {tabindex: "-1"}, "Drift"),
    el("p", {class: "quiet"}, "Differences from the last audit of the previous run. Changes made by a run itself are "
      + "listed under Runs."),
    list.length ? driftTable(list, `${many(list.length, "host")} with drift`, false)
      : nothing("No drift since the previous run, if there was one.")];
}

// Who has which state after the last rollout, those who need somebody first; also hosts that were never audited.
function rolloutOf(selection) {
  if (!packed.rollout) return [];
  const shown = new Set(selection.map(({host}) => host.name));
  const fine = ["changed", "unchanged", "would change", "waiting"];
  const list = packed.rollout.hosts.filter(([name]) => shown.has(name) || !byName.has(name))
    .sort((a, b) => fine.includes(a[2]) - fine.includes(b[2]));
  return [el("h3", null, `Rollout ${packed.rollout.run_id}: ${packed.rollout.ended}`),
    ...growingTable("Hosts of the last rollout", ["Host", "Batch", "State", "Reason"], list,
      ([name, batch, state, reason]) => row(byName.has(name) ? hostLink(byName.get(name)) : name, batch,
        el("span", {class: fine.includes(state) ? "" : "fail"}, state), reason)),
    el("h3", null, "Runs")];
}

function viewRuns(selection) {
  const list = selection.map(({host}) => host).filter((host) => host.runs.length)
    .sort((a, b) => a.runs[0].id < b.runs[0].id ? 1 : -1);
  return [el("h2", {tabindex: "-1"}, "Runs and outcomes"), ...rolloutOf(selection),
    ...(list.length ? growingTable("The last run that was to change each host, newest first",
      ["Host", "Run", "State", "Outcomes", "Harm"], list, (host) => row(hostLink(host), code(host.runs[0].id),
        host.runs[0].state, outcomesOf(host.runs[0]), host.runs[0].harm.join("; ")))
      : [nothing("No run has changed any of these hosts.")])];
}
