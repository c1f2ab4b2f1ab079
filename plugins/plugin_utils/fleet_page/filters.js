// Copyright (c) 2026, gpuhost.tuning contributors
// GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later
// The filters: which hosts and which of their findings the views show.

const CHOICES = [["", "any"], ["improve", "to improve"], ["fail", "fail"], ["unknown", "unknown"],
  ["pass", "passed"], ["not_applicable", "not applicable"], ["waived", "waived"]];
const fields = {};

function buildFilters(changed) {
  const form = document.getElementById("filters");
  // On a phone they would fill the first screen.
  document.getElementById("filter-box").open = matchMedia("(min-width: 48rem)").matches;
  const select = (options) => el("select", null, options.map(([value, label]) => el("option", {value}, label)));
  const sorted = (list) => [...new Set(list)].sort();
  const ids = checks.map((check, index) => [String(index), check.id]).sort((a, b) => a[1] < b[1] ? -1 : 1);
  Object.assign(fields, {
    host: el("input", {type: "search", size: "14", autocomplete: "off", spellcheck: "false"}),
    model: select([["", "any"], ...sorted(hosts.map((host) => host.model)).map((model) => [model, model])]),
    check: select([["", "any"], ...ids]),
    priority: select([["", "any"], ...packed.priorities.map((name, index) => [String(index), name])]),
    verdict: select(CHOICES),
    text: el("input", {type: "search", size: "18", autocomplete: "off", spellcheck: "false"}),
  });
  const labels = {host: "Host", model: "Model", check: "Check", priority: "Priority", verdict: "Verdict",
    text: "Text in a finding"};
  for (const [name, field] of Object.entries(fields)) {
    field.id = `filter-${name}`;
    form.append(el("label", {for: field.id}, labels[name], field));
  }
  form.append(el("button", {type: "reset"}, "Clear"));
  let waiting = null;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(changed, 120);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(changed, 0));
}

function entryTest() {
  const check = fields.check.value, priority = fields.priority.value, verdict = fields.verdict.value;
  const wanted = fields.text.value.trim().toLowerCase();
  const kind = packed.verdicts.indexOf(verdict);
  const known = new Map();
  const test = (one) => (check === "" || one.check === Number(check))
    && (priority === "" || one.priority === Number(priority))
    && (verdict === "" || (verdict === "improve" ? one.toImprove : verdict === "waived" ? one.waived !== ""
      : one.verdict === kind))
    && (wanted === "" || searched(one).includes(wanted));
  const all = check === "" && priority === "" && verdict === "" && wanted === "";
  return {all, passes: (number) => {
    if (all) return true;
    let answer = known.get(number);
    if (answer === undefined) known.set(number, answer = test(entry(number)));
    return answer;
  }};
}

// The hosts to show, each with those of its findings to show; without a filter on findings every host stays.
function chosen() {
  const part = fields.host.value.trim().toLowerCase(), model = fields.model.value;
  const test = entryTest();
  const found = [];
  for (const host of hosts) {
    if (part && !host.name.toLowerCase().includes(part)) continue;
    if (model && host.model !== model) continue;
    const numbers = test.all ? host.entryNumbers : host.entryNumbers.filter(test.passes);
    if (test.all || numbers.length) found.push({host, numbers});
  }
  return found;
}
