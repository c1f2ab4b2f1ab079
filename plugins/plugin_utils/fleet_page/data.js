// Copyright (c) 2026, gpuhost.tuning contributors
// GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later
// What the page shows, unpacked: rows and texts are named by their number in `packed` (see _fleet/pack.py).

const packed = JSON.parse(document.getElementById("data").textContent);
const string = (number) => packed.strings[number];
const texts = (number) => packed.rows[number].map(string);
const FAIL = packed.verdicts.indexOf("fail"), UNKNOWN = packed.verdicts.indexOf("unknown");
const PASS = packed.verdicts.indexOf("pass"), NOT_APPLICABLE = packed.verdicts.indexOf("not_applicable");

const checks = packed.checks.map(([id, topic, title, why, evidence, contested, sources]) =>
  ({id, topic, title: title || id, why, evidence, contested, sources}));

// An entry is made once although a thousand hosts may have it.
const entryCache = new Map();
function entry(number) {
  let made = entryCache.get(number);
  if (!made) {
    const [check, verdict, priority, actual, wanted, reason, fix, waived, commands, undo, advice, subjects] =
      packed.rows[number];
    made = {check, verdict, priority, actual: string(actual), wanted: string(wanted), reason: string(reason),
      fix: string(fix), waived: string(waived), commands: string(commands), undo: string(undo), advice: string(advice),
      subjects: texts(subjects)};
    made.toImprove = verdict === FAIL && !made.waived;
    entryCache.set(number, made);
  }
  return made;
}

// Everything of an entry that somebody may look for, in small letters.
function searched(one) {
  const about = checks[one.check];
  one.search ||= [about.id, about.title, one.actual, one.wanted, one.reason, ...one.subjects].join("\n").toLowerCase();
  return one.search;
}

const pairs = (list) => list.reduce((found, text, index) =>
  index % 2 ? found : [...found, [text, list[index + 1]]], []);

const hosts = packed.hosts.map(([name, model, machine, at, profile, notes, traits, entries, gpus, since, drift, audits,
  runs, evidence], index) => ({
  index, name: string(name), model: string(model), machine: string(machine), at: string(at), profile: string(profile),
  notes: notes.map(string), entryNumbers: entries, since: string(since), driftNumbers: drift,
  traits: () => pairs(texts(traits)), gpus: () => gpus.map(texts),
  entries: () => entries.map(entry),
  drift: () => drift.map((number) => {
    const [check, subject, ...ends] = packed.rows[number];
    const [wasVerdict, was, isVerdict, is] = ends.map(string);
    return {check: checks[check], subject: string(subject), wasVerdict, was, isVerdict, is};
  }),
  audits: audits.map(([run, stage, when, used, said, unit, ...counts]) => ({run: string(run), stage: string(stage),
    at: string(when), profile: string(used), said: string(said), unit: string(unit), counts})),
  evidence: () => evidence.map(([heading, notes, tables, drawings, blocks]) => ({
    heading, notes, tables: tables.map(([caption, head, rows]) => ({caption: string(caption), head: texts(head),
      rows: rows.map(texts)})),
    drawings: drawings.map(([title, description, width, height, shapes]) => ({title, description, width, height,
      shapes: shapes.map(texts)})), blocks})),
  runs: runs.map(([id, state, outcomes, harm, changes]) =>
    ({id: string(id), state: string(state), outcomes, harm: harm.map(string), changes: () => changes.map(texts)})),
}));
// An entry to improve is one thing, however many places of the host it is about.
for (const host of hosts) {
  host.things = packed.priorities.map(() => 0);
  host.places = 0;
  host.unknown = 0;
  for (const number of host.entryNumbers) {
    const one = entry(number);
    const places = Math.max(1, one.subjects.length);
    if (one.toImprove) {
      host.things[one.priority] += 1;
      host.places += places;
    }
    if (one.verdict === UNKNOWN) host.unknown += places;
  }
}

// The verdicts are numbered from the worst to the best; what is waived is no better than fine.
const rank = (one) => one.verdict === FAIL && !one.toImprove ? UNKNOWN + 0.5 : one.verdict;

// The worst of each check among the entries with these numbers, by the check's number.
function worstByCheck(numbers) {
  const worst = new Map();
  for (const number of numbers) {
    const one = entry(number);
    const kept = worst.get(one.check);
    if (!kept || rank(one) < rank(kept) || (rank(one) === rank(kept) && one.priority < kept.priority)) {
      worst.set(one.check, one);
    }
  }
  return worst;
}
const byName = new Map(hosts.map((host) => [host.name, host]));

const outliers = packed.outliers.map(([model, number, what, kind, majority, having, odd]) => ({
  model: string(model), hosts: number, what: string(what), kind: string(kind), majority: string(majority), having,
  odd: odd.map(([host, text]) => [hosts[host], string(text)]),
}));
const guests = packed.guests.map(([host, subject, guest, outside, inside, problem]) => ({host: hosts[host],
  subject: string(subject), guest: hosts[guest], outside, inside, problem: string(problem)}));
const outcomesOf = (run) => Object.entries(run.outcomes).map(([outcome, number]) => `${number} ${outcome}`).join(", ")
  || "nothing to change";
