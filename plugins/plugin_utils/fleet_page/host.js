// Copyright (c) 2026, gpuhost.tuning contributors
// GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later
// One host: what to improve on it, device by device, before and after its last change, drift, and its audits.

function viewHost(name) {
  const host = byName.get(name);
  if (!host) return [el("h2", {tabindex: "-1"}, name), nothing("There is no record of this host.")];
  return [
    el("h2", {tabindex: "-1"}, host.name), el("p", null, host.machine),
    el("p", {class: "quiet"}, `${host.model}. Audited ${host.at} with the profile ${host.profile}.`),
    ...host.notes.map((note) => el("p", {class: "note"}, note)), files(host),
    ...findingsOf(host), ...devicesOf(host), ...pairsOf(host), ...evidenceOf(host), ...changesOf(host),
    ...driftOf(host), ...oddOf(host), ...auditsOf(host),
    details("Facts compared within a model", () => table("Facts", ["Fact", "Value"],
      host.traits().map(([fact, value]) => row(fact, code(value))))),
  ];
}

function files(host) {
  const link = (file, label) => el("a", {href: `${encodeURIComponent(host.name)}/${file}`}, label);
  return el("p", null, "Files: ", link("system-improve.md", "system-improve.md"), " · ",
    link("audit.json", "audit.json"), " · ", link("junit.xml", "junit.xml"), " · ", link("gpuhost.prom", "gpuhost.prom"));
}

function findingsOf(host) {
  const all = host.entries();
  const head = ["Check", "Priority", "Where", "Is", "Wanted", "Fix", "Finding"];
  const part = (list, caption) => table(caption, head, list.flatMap((one) => findingRows(one, head.length)),
    {class: "findings"});
  const improve = all.filter((one) => one.toImprove).sort((a, b) => a.priority - b.priority);
  const folded = [["unknown", (one) => one.verdict === UNKNOWN], ["waived", (one) => one.waived !== ""],
    ["passed", (one) => one.verdict === PASS], ["not applicable", (one) => one.verdict === NOT_APPLICABLE]];
  return [el("h3", null, "To improve"),
    improve.length ? part(improve, "What to improve, most urgent first")
      : nothing("Nothing to improve."),
    ...folded.map(([label, test]) => [label, all.filter(test)]).filter(([, list]) => list.length)
      .map(([label, list]) => details(`${list.length} ${label}`, () => part(list, `Checks: ${label}`)))];
}

// What to do has a row of its own: commands are wider than any column.
function findingRows(one, columns) {
  const check = checks[one.check];
  const actions = [one.toImprove ? el("p", {class: "quiet"}, check.why) : null, ...actionOf(one, "")].filter(Boolean);
  const found = row(checkName(check), priorityMark(one.priority),
    one.subjects.length ? shortList(ranges(one.subjects).map(code), 8) : "host", code(one.actual), code(one.wanted), one.fix,
    [one.reason || null, one.waived ? ` waived: ${one.waived}` : null].filter(Boolean));
  return actions.length ? [found, el("tr", {class: "action"}, el("td", {colspan: columns}, actions))] : [found];
}

function devicesOf(host) {
  const gpus = host.gpus();
  if (!gpus.length) return [];
  const entries = host.entries();
  const found = (address, test) => [...new Set(entries.filter((one) => test(one) && one.subjects.includes(address))
    .map((one) => checks[one.check].id))];
  return [el("h3", null, many(gpus.length, "GPU")), table("GPUs, one per row",
    [packed.gpuColumns[0], "To improve", "Not judged", ...packed.gpuColumns.slice(1)],
    gpus.map(([address, ...cells]) => row(code(address),
      shortList(found(address, (one) => one.toImprove).map(code), 12),
      shortList(found(address, (one) => one.verdict === UNKNOWN).map(code), 12),
      ...cells.map((cell) => el("td", {class: "short"}, cell)))))];
}

function evidenceOf(host) {
  return host.evidence().flatMap(({heading, notes, tables, drawings, blocks}) => [el("h3", null, heading),
    ...(notes.length ? [el("ul", null, notes.map((note) => el("li", null, note)))] : []),
    ...drawings.map((one) => el("div", {class: "scroll", role: "region", "aria-label": one.title, tabindex: "0"},
      drawing(one))),
    ...tables.map((one) => table(one.caption, one.head, one.rows.map(([first, ...cells]) => row(code(first), ...cells)))),
    ...blocks.flatMap(([caption, lines]) => [el("p", {class: "label"}, caption), copyable(caption, lines)]),
  ]);
}

function changesOf(host) {
  if (!host.runs.length) return [];
  const [last, ...older] = host.runs;
  const changes = last.changes();
  return [el("h3", null, `Before and after: run ${last.id}`), el("p", null, `${last.state}: ${outcomesOf(last)}`,
    last.state === "finished" ? "" : ". No outcome was recorded: it was run with --check, is still running, or "
      + "was interrupted. verify.yml reads the journal on the host."),
    ...last.harm.map((text) => el("p", {class: "note"}, text)),
    changes.length ? table(`Changes of run ${last.id}`, ["Tunable", "Before", "Wanted", "After", "Outcome", "Reason"],
      changes.map(([address, before, wanted, after, outcome, reason]) => row(code(address), code(before), code(wanted),
        code(after), el("span", {class: outcome === "refused" ? "fail" : ""}, outcome), reason))) : null,
    ...(older.length ? [details(`${many(older.length, "earlier run")}`, () => table("Earlier runs",
      ["Run", "State", "Outcomes"], older.map((run) => row(code(run.id), run.state, outcomesOf(run)))))] : []),
  ].filter(Boolean);
}

function driftOf(host) {
  if (!host.driftNumbers.length) return [];
  return [el("h3", null, `Drift since ${host.since}`), driftTable([host], "Drift of this host", true)];
}

function oddOf(host) {
  const odd = outliers.flatMap((one) => one.odd.filter(([other]) => other === host).map(([, text]) => [one, text]));
  return odd.length ? [el("h3", null, "Differences from its model"), table("Values that differ from the majority",
    ["What", "Is", "Most have"], odd.map(([one, text]) => row(code(one.what), code(text),
      [code(one.majority), ` (${one.having} of ${one.hosts})`])))] : [];
}

function auditsOf(host) {
  return host.audits.length ? [details(`${many(host.audits.length, "audit")} in the history`, () =>
    table("Audits, newest first", ["At", "Run", "For", "Profile", "Counted", ...packed.priorities, "Unknown",
      "Said"], [...host.audits].reverse().map((audit) => row(audit.at, code(audit.run), audit.stage, audit.profile,
        audit.unit, ...audit.counts.map((number) => numberCell(number)), audit.said))))] : [];
}
