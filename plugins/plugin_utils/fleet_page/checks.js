// Copyright (c) 2026, gpuhost.tuning contributors
// GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later
// The first view: every check with the hosts that it is about, grouped by priority.

function tallyChecks(selection) {
  const tallies = new Map();
  for (const {host, numbers} of selection) {
    // A host counts once in the row of a check, at its worst.
    for (const [check, worst] of worstByCheck(numbers)) {
      let tally = tallies.get(check);
      if (!tally) {
        tally = {key: check, check: checks[check], priority: worst.priority, hosts: [new Set(), new Set(), new Set(),
          new Set()], improve: new Set(), waived: new Set(), values: new Map(), actions: new Map()};
        tallies.set(check, tally);
      }
      if (worst.toImprove) {
        tally.priority = tally.improve.size ? Math.min(tally.priority, worst.priority) : worst.priority;
        tally.improve.add(host);
      } else if (worst.waived) tally.waived.add(host);
      else tally.hosts[worst.verdict].add(host);
    }
    for (const one of numbers.map(entry).filter((one) => one.toImprove)) noteAction(tallies.get(one.check), one, host);
  }
  return [...tallies.values()].sort((a, b) => b.improve.size - a.improve.size
    || b.hosts[UNKNOWN].size - a.hosts[UNKNOWN].size || (a.check.id < b.check.id ? -1 : 1));
}

// What a check asks for, each action once with the hosts that need it.
function noteAction(tally, one, host) {
  tally.values.set(one.actual, (tally.values.get(one.actual) || 0) + 1);
  const key = [one.commands, one.undo, one.advice].join("\n\n");
  if (!tally.actions.has(key)) tally.actions.set(key, {one, hosts: new Set()});
  tally.actions.get(key).hosts.add(host);
}

const MOST_ACTIONS = 12;
const shownNames = (found) => shortList([...found].map((host) => host.name), 5).join("");
const CHECK_COLUMNS = ["Check", "To improve", "Unknown", "Passed", "Not applicable", "Value", "Details"];

function checkRows(tally) {
  const values = [...tally.values].sort((a, b) => b[1] - a[1]).map(([text]) => code(text));
  const [button, below] = disclosure("Hosts, reasons, commands", CHECK_COLUMNS.length, () => [
    el("p", null, tally.check.why),
    ...[...tally.actions.values()].slice(0, MOST_ACTIONS).flatMap(({one, hosts}) => [
      ...actionOf(one, `${shownNames(hosts)}: `)]),
    tally.actions.size > MOST_ACTIONS ? quiet(`and ${tally.actions.size - MOST_ACTIONS} more, see the hosts`)
      : null,
    tally.check.contested ? el("p", {class: "note"}, `Contested by ${tally.check.contested}`) : null,
    el("p", {class: "quiet"}, `Evidence: ${tally.check.evidence.replace("_", " ")}. ${tally.check.sources.join("; ")}`),
    ...listOf("To improve", tally.improve), ...listOf("Unknown", tally.hosts[UNKNOWN]),
    ...listOf("Waived", tally.waived)].filter(Boolean));
  return [row(checkName(tally.check), numberCell(tally.improve.size, packed.priorities[tally.priority]),
    numberCell(tally.hosts[UNKNOWN].size, "unknown"), numberCell(tally.hosts[PASS].size, "pass"),
    numberCell(tally.hosts[NOT_APPLICABLE].size), shortList(values, 3), button), below];
}

function listOf(heading, found) {
  return found.size ? [el("h4", null, `${heading}: ${many(found.size, "host")}`), ...hostList([...found])] : [];
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
    sections.flat().length ? null : nothing("Nothing to improve with these filters."),
    fine.length ? details(`${many(fine.length, "check")} with nothing to improve`, () =>
      table("Checks with nothing to improve, hosts by verdict", CHECK_COLUMNS, fine.flatMap(checkRows))) : null].filter(Boolean);
}
