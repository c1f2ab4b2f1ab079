// Copyright (c) 2026, gpuhost.tuning contributors
// GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later
// The first view: every check with the hosts that it is about, grouped by priority.

function tallyChecks(selection) {
  const tallies = new Map();
  for (const {host, numbers} of selection) {
    for (const number of numbers) {
      const one = entry(number);
      const key = one.check * packed.priorities.length + one.priority;
      let tally = tallies.get(key);
      if (!tally) {
        tally = {key, check: checks[one.check], priority: one.priority, hosts: [new Set(), new Set(), new Set(), new Set()],
          improve: new Set(), waived: new Set(), values: new Map()};
        tallies.set(key, tally);
      }
      tally.hosts[one.verdict].add(host);
      if (one.waived) tally.waived.add(host);
      if (one.toImprove) {
        tally.improve.add(host);
        tally.values.set(one.actual, (tally.values.get(one.actual) || 0) + 1);
      }
    }
  }
  return [...tallies.values()].sort((a, b) => b.improve.size - a.improve.size
    || b.hosts[UNKNOWN].size - a.hosts[UNKNOWN].size || (a.check.id < b.check.id ? -1 : 1));
}

const CHECK_COLUMNS = ["Check", "To improve", "Not judged", "Fine", "Does not apply", "Is", "More"];

function checkRows(tally) {
  const values = [...tally.values].sort((a, b) => b[1] - a[1]).map(([text]) => code(text));
  const [button, below] = disclosure("Hosts, reasons", CHECK_COLUMNS.length, () => [
    el("p", null, tally.check.why),
    tally.check.contested ? el("p", {class: "note"}, `Contested by ${tally.check.contested}`) : null,
    el("p", {class: "quiet"}, `Evidence: ${tally.check.evidence.replace("_", " ")}. ${tally.check.sources.join("; ")}`),
    ...listOf("To improve", tally.improve), ...listOf("Could not be judged", tally.hosts[UNKNOWN]),
    ...listOf("Waived", tally.waived)].filter(Boolean));
  return [row(checkName(tally.check), numberCell(tally.improve.size, packed.priorities[tally.priority]),
    numberCell(tally.hosts[UNKNOWN].size, "unknown"), numberCell(tally.hosts[PASS].size, "pass"),
    numberCell(tally.hosts[NOT_APPLICABLE].size), shortList(values, 3), button), below];
}

function listOf(heading, found) {
  return found.size ? [el("h3", null, `${heading}: ${many(found.size, "host")}`), ...hostList([...found])] : [];
}

function viewChecks(selection) {
  const tallies = tallyChecks(selection);
  const sections = packed.priorities.map((name, priority) => {
    const open = tallies.filter((tally) => tally.priority === priority
      && (tally.improve.size || tally.hosts[UNKNOWN].size || tally.waived.size));
    return open.length ? [el("h3", null, priorityMark(priority), ` ${many(open.length, "check")}`),
      table(`Checks of priority ${name}, hosts by verdict`, CHECK_COLUMNS, open.flatMap(checkRows))] : [];
  });
  const fine = tallies.filter((tally) => !tally.improve.size && !tally.hosts[UNKNOWN].size && !tally.waived.size);
  return [el("h2", {tabindex: "-1"}, "Checks"), ...sections.flat(),
    sections.flat().length ? null : nothing("Nothing to improve among what is shown."),
    fine.length ? details(`${many(fine.length, "check")} with nothing to improve`, () =>
      table("Checks with nothing to improve, hosts by verdict", CHECK_COLUMNS, fine.flatMap(checkRows))) : null].filter(Boolean);
}
