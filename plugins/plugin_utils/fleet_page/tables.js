// Copyright (c) 2026, gpuhost.tuning contributors
// GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later
// Pieces that several views share.

const hostLink = (host) => el("a", {href: `#/host/${encodeURIComponent(host.name)}`}, host.name);
const priorityMark = (index) => el("span", {class: packed.priorities[index]}, packed.priorities[index]);
const verdictWord = (name) => name.replace("_", " ");
const checkName = (check) => [el("span", null, check.title), " ", el("span", {class: "code quiet"}, check.id)];

// `x, y and 3 more`
function shortList(items, most) {
  const shown = items.slice(0, most);
  const joined = shown.flatMap((item, index) => index ? [", ", item] : [item]);
  return items.length > most ? [...joined, ` and ${items.length - most} more`] : joined;
}

// `policy0-255` for three neighbours or more that are one word with a number.
function ranges(names) {
  const runs = [];
  for (const name of names) {
    const [, word, number] = /^([A-Za-z]+)(0|[1-9][0-9]*)$/.exec(name) || [];
    const run = runs[runs.length - 1];
    if (run && word !== undefined && run.word === word && Number(number) === run.last + 1) {
      run.names.push(name);
      run.last += 1;
    } else runs.push({word, last: Number(number), names: [name]});
  }
  return runs.flatMap((run) => run.names.length < 3 ? run.names : [`${run.names[0]}-${run.last}`]);
}

// A button, and a row of the table below it with what it shows, which is made when it is first asked for.
function disclosure(label, columns, make) {
  const cell = el("td", {colspan: columns});
  const below = el("tr", {hidden: true}, cell);
  const button = el("button", {type: "button", "aria-expanded": "false", onclick: () => {
    const open = button.getAttribute("aria-expanded") === "true";
    if (!open && !cell.hasChildNodes()) cell.append(...[make()].flat());
    button.setAttribute("aria-expanded", String(!open));
    below.hidden = open;
  }}, label);
  return [button, below];
}

function details(label, make) {
  const element = el("details", {ontoggle: () => {
    if (element.open && element.children.length === 1) element.append(...[make()].flat());
  }}, el("summary", null, label));
  return element;
}

function hostList(list) {
  const target = el("ul", {class: "list"});
  const more = growing(list, (host) => el("li", null, hostLink(host)), 200, target);
  return more ? [target, more] : [target];
}

// What to do about an entry: the commands and the way back to copy, or why there is no command.
function actionOf(one, where) {
  const block = (label, text) => text ? [el("p", {class: "label"}, where, label), copyable(label, text)] : [];
  return [one.advice ? el("p", null, where, one.advice) : null, ...block("Do", one.commands), ...block("Undo", one.undo)]
    .filter(Boolean);
}

function copyable(label, text) {
  const block = el("pre", {tabindex: "0", "aria-label": `${label}: commands`}, text);
  const button = el("button", {type: "button", class: "copy", onclick: async () => {
    button.textContent = await copied(block, text) ? "Copied" : "Press Ctrl+C";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  }}, "Copy");
  return el("div", {class: "commands"}, block, button);
}

// A page that came by mail may have no right to the clipboard: then the text is selected.
async function copied(block, text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch (error) {
    getSelection().selectAllChildren(block);
    return document.execCommand("copy");
  }
}

const nothing = (text) => el("p", {class: "quiet"}, text);
