// Copyright (c) 2026, gpuhost.tuning contributors
// GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later
// Proxmox VE guests that were audited as hosts too: the NUMA nodes of their GPUs on the host, and as the guest sees them.

const nodesOf = (list) => list.length ? `${list.length === 1 ? "node" : "nodes"} ${list.join(", ")}` : quiet("not known");

// A difference has a row of its own below its guest, as on a phone a further column would be out of sight.
function pairRows({host, subject, guest, outside, inside, problem}) {
  const pair = row(hostLink(guest), [hostLink(host), " ", code(subject)], nodesOf(outside), nodesOf(inside));
  return problem ? [pair, el("tr", {class: "action"}, el("td", {colspan: 4, class: "fail"}, problem))] : [pair];
}

function pairsTable(caption, list) {
  const ordered = [...list].sort((a, b) => Boolean(b.problem) - Boolean(a.problem));
  return growingTable(caption, ["Guest", "Runs on", "Its GPUs on the host", "As the guest sees them"],
    ordered.flatMap(pairRows), (made) => made);
}

function viewGuests(selection) {
  const wanted = new Set(selection.map(({host}) => host));
  const list = guests.filter(({host, guest}) => wanted.has(host) || wanted.has(guest));
  return [el("h2", {tabindex: "-1"}, "Guests and their hosts"),
    el("p", {class: "quiet"}, "Guests with GPUs that were audited as hosts too. A VM is recognised by the UUID in its "
      + "smbios1, a container by the hardware address of a netN. Guests number their NUMA nodes themselves: compare how "
      + "many there are."),
    ...(list.length ? pairsTable("NUMA nodes of the GPUs of each guest, differences first", list)
      : [nothing("No guest of these hosts was audited as a host.")])];
}

// The same on the page of one host, which may be the host, the guest, or both.
function pairsOf(one) {
  const list = guests.filter(({host, guest}) => host === one || guest === one);
  return list.length ? [el("h3", null, "Guests and their hosts"),
    ...pairsTable("NUMA nodes of the GPUs, on the host and in the guest", list)] : [];
}
