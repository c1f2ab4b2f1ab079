# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Containers whose nodes are not the host's, rules that LXC cannot read, and sections that do not hold now."""
from __future__ import annotations

import functools

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.judge import summary

from expected_hosts.other_boot import OF_A_CONTAINER
from hosts.other_boot import NODES, OWN_NODES, PIDS, other_boot, this_boot
from hosts.processes import plant_container_nodes
from hosts.story_before import CONTAINERS, UVM_MAJOR, story_before
from verdicts import changes, judged, line

UVM = "/dev/nvidia-uvm"
GOOD = {**NODES, UVM: (UVM_MAJOR, 0)}
CONF = "/etc/pve/nodes/pve1/lxc/101.conf"


@functools.cache
def with_nodes(nodes=(), files=(), text=CONTAINERS["101"], devices=()):
    """The story with other things in /dev of container 101, another configuration, or other nodes of the host."""
    def plant(tree):
        story_before(tree, cores=1)
        tree.file(CONF, text)
        for path, major, minor in devices:
            tree.device(path, major, minor)
        root = f"/proc/{PIDS['101']}/root"
        for path in [path for path in tree._nodes if path.startswith(root)]:
            del tree._nodes[path]
        plant_container_nodes(tree, PIDS["101"], {**dict(nodes), "/dev/null": (1, 3)}, files)
    return plant


def nodes(**changed):
    """Those of container 101; `nvidia_uvm=(508, 0)` changes one, `None` takes it away."""
    found = {**GOOD, **{f"/dev/{name.replace('_', '-')}": numbers for name, numbers in changed.items()}}
    return tuple((path, numbers) for path, numbers in found.items() if numbers)


def of_101(facts, check="container_nodes"):
    finding = judged(facts)[check, "lxc:101"]
    return finding["verdict"], finding["priority"], finding["reason"]


@pytest.mark.parametrize("host", OF_A_CONTAINER, ids=lambda host: host.plant.__name__)
def test_a_container_with_nodes_of_another_boot(facts_of, host):
    """Everything that fails about the container, written down before; the rest is the story's."""
    found = judged(facts_of(host.plant))
    of_it = {check: line(finding) for (check, subject), finding in found.items()
             if subject == "lxc:101" and finding["verdict"] in ("fail", "unknown")}
    assert of_it == dict(host.fails)
    first = [check for check, subject in found if found[check, subject]["verdict"] == "fail"]
    assert list(dict.fromkeys(first))[:3] == list(host.first)


def test_the_gate_of_p0_fails_on_it(facts_of):
    def urgent(plant):
        return {pair for pair, finding in judged(facts_of(plant)).items()
                if finding["verdict"] == "fail" and finding["priority"] == "P0"}

    assert urgent(other_boot) - urgent(this_boot) == {("container_nodes", "lxc:101")}
    assert summary(judged(facts_of(other_boot)).values())["failing"]["P0"] > 0


@pytest.mark.parametrize("changed, files, verdict, priority, reason", [
    ({}, (), "pass", "P1", "6 nodes, all with the same numbers as on the host"),
    # A node with another major than outside; the first is the one that CUDA cannot do without.
    ({"nvidia_uvm": (508, 0)}, (), "fail", "P0", "/dev/nvidia-uvm is 508:0 in it, 509:0 on the host"),
    ({"nvidia_uvm_tools": (508, 1)}, (), "fail", "P1", "/dev/nvidia-uvm-tools is 508:1 in it, 509:1 on the host"),
    ({"nvidia2": (194, 2)}, (), "fail", "P1", "/dev/nvidia2 is 194:2 in it, 195:2 on the host"),
    ({"nvidiactl": (195, 254)}, (), "fail", "P0", "/dev/nvidiactl is 195:254 in it, 195:255 on the host"),
    # A plain file in its place.
    ({"nvidia_uvm": None}, (UVM,), "fail", "P0", "/dev/nvidia-uvm is a regular file in it, not a device node"),
    ({"nvidia3": None}, ("/dev/nvidia3",), "fail", "P1", "/dev/nvidia3 is a regular file in it, not a device node"),
    # A node that its configuration names and that is missing.
    ({"nvidia_uvm": None}, (), "fail", "P0", "/dev/nvidia-uvm is missing in it, although listed in lxc.mount.entry"),
    # Without any GPU there is no CUDA.
    ({f"nvidia{minor}": (194, minor) for minor in range(4)}, (), "fail", "P0",
     "; ".join(f"/dev/nvidia{minor} is 194:{minor} in it, 195:{minor} on the host" for minor in range(4))),
])
def test_nodes_inside_a_running_container(facts_of, changed, files, verdict, priority, reason):
    assert of_101(facts_of(with_nodes(nodes(**changed), files))) == (verdict, priority, reason)


def test_a_node_that_devn_names_and_that_is_missing_inside(facts_of):
    text = CONTAINERS["101"] + "dev7: /dev/nvidia-uvm-tools\n"
    assert of_101(facts_of(with_nodes(nodes(), (), text))) == (
        "fail", "P1", "/dev/nvidia-uvm-tools is missing in it, although listed in dev7")


def test_another_name_for_a_gpu_is_no_fault(facts_of):
    """GPU 3 as /dev/nvidia0, as a mount says, and as a container that makes its nodes itself may have it."""
    text = CONTAINERS["101"].replace("/dev/nvidia3 dev/nvidia3", "/dev/nvidia3 dev/nvidia9")
    assert of_101(facts_of(with_nodes(nodes(nvidia3=None, nvidia9=(195, 3)), (), text)))[0] == "pass"
    assert of_101(facts_of(with_nodes(nodes(nvidia0=(195, 3)), (), OWN_NODES)))[0] == "pass"


def test_a_dev_that_was_not_recorded_is_unknown(facts_of):
    def plant(tree):
        story_before(tree, cores=1)
        root = f"/proc/{PIDS['101']}/root"
        for path in [path for path in tree._nodes if path.startswith(root)]:
            del tree._nodes[path]
        tree.path(f"{root}/dev").rmdir()
        tree.device("/dev/null", 1, 3)
    assert of_101(facts_of(plant)) == (
        "unknown", "P1", "device nodes in containers (/proc/PID/root/dev) could not be read: "
                         "it has no /dev that could be seen")


# -- rules that LXC cannot read ---------------------------------------------------------------------------------------

def allow(*rules, verb="allow"):
    return "".join(f"lxc.cgroup2.devices.{verb}: {rule}\n" for rule in rules)


@pytest.mark.parametrize("rules, priority, reason", [
    (allow("c195:* rwm"), "P1", "lxc.cgroup2.devices.allow: c195:* rwm: no space after c"),
    (allow("c 195:all rwm"), "P1",
     "lxc.cgroup2.devices.allow: c 195:all rwm: the minor 'all' is neither a number nor *"),
    (allow("c 195:* rw # GPUs"), "P1",
     "lxc.cgroup2.devices.allow: c 195:* rw # GPUs: the access 'rw # GPUs' has letters other than r, w and m"),
    (allow("c 195:* rwm # GPUs"), "P2",
     "lxc.cgroup2.devices.allow: c 195:* rwm # GPUs (LXC ignores text after the rule)"),
    (allow("c 0xc3:* rwm"), "P1",
     "lxc.cgroup2.devices.allow: c 0xc3:* rwm: the major '0xc3' is not a decimal number; 0xc3 read as hexadecimal is "
     "195, the major of nvidia: LXC takes decimal numbers"),
    (allow("c 10:x rwm", verb="deny"), "P1",
     "lxc.cgroup2.devices.deny: c 10:x rwm: the minor 'x' is neither a number nor *"),
])
def test_rules_that_lxc_cannot_read(facts_of, rules, priority, reason):
    """Allow and deny lines, each with its text."""
    facts = facts_of(with_nodes(nodes(), (), CONTAINERS["101"] + rules))
    assert of_101(facts, "lxc_unreadable_rules") == ("fail", priority, reason)


def test_rules_of_a_container_that_has_no_gpu_by_them_are_told_too(facts_of):
    facts = facts_of(with_nodes(nodes(), (), "hostname: x\n" + allow("c195:* rwm")))
    assert of_101(facts, "lxc_unreadable_rules")[:2] == ("fail", "P1")


def test_a_major_in_the_other_base_that_lxc_reads_gets_the_hint(facts_of):
    """195 is 303 in octal."""
    facts = facts_of(with_nodes(nodes(), (), CONTAINERS["101"] + allow("c 303:* rwm")))
    assert of_101(facts, "lxc_stale_rules") == (
        "fail", "P2", "c 303:* rwm: no driver has the major 303; 303 read as octal is 195, the major of nvidia: "
                      "LXC takes decimal numbers")


def test_a_rule_by_path_has_the_numbers_of_its_node(facts_of):
    """LXC 6 looks the path up at each start: it opens the node, and no reboot moves it."""
    text = CONTAINERS["101"].replace("c 509:* rwm", "/dev/nvidia-uvm rwm")
    facts = facts_of(with_nodes(nodes(), (), text))
    assert of_101(facts, "lxc_gpu_access")[0] == "pass"
    assert of_101(facts, "lxc_survives_reboot")[0] == "pass"
    assert of_101(facts, "lxc_unreadable_rules")[0] == "pass"


# -- sections that do not hold now ------------------------------------------------------------------------------------

SNAPSHOT = "\n[before]\n{}dev0: /dev/nvidia7\nsnaptime: 1796000000\n"


def test_lines_of_a_snapshot_are_told_as_such_and_hold_for_nothing(facts_of):
    plain, with_snapshot = (facts_of(with_nodes(nodes(), (), CONTAINERS["101"] + text)) for text in (
        "", SNAPSHOT.format(CONTAINERS["101"])))
    assert changes(judged(plain), judged(with_snapshot)) == {
        ("guest_pending_devices", None): None, ("guest_pending_devices", "lxc:101"): "pass info: []"}
    assert of_101(with_snapshot, "guest_pending_devices")[2] == (
        "nothing pending; only in snapshot before: dev0: /dev/nvidia7")


def test_what_waits_for_the_next_start_is_told(facts_of):
    """A delete: line in a pending section, and a device that comes."""
    text = CONTAINERS["102"] + "\n[pve:pending]\ndelete: dev0,onboot\ndev9: /dev/nvidia0\nmemory: 1\n"
    assert of_101(facts_of(with_nodes(nodes(), (), text)), "guest_pending_devices") == (
        "fail", "info", "pending until the next start: delete: dev0,onboot, dev9: /dev/nvidia0")


@pytest.mark.parametrize("section, verdict, reason", [
    ("[before]\nhostpci0: 0000:41:00.0\n", "pass", "nothing pending; only in snapshot before: hostpci0: 0000:41:00.0"),
    ("[PENDING]\ndelete: hostpci0\n", "fail", "pending until the next start: delete: hostpci0"),
    ("[special:cloudinit]\nhostpci0: 0000:41:00.0\n", None, None)])
def test_hostpci_of_a_vm_only_in_a_section(facts_of, section, verdict, reason):
    """A VM that names a GPU in a snapshot alone owns none."""
    def plant(tree):
        story_before(tree, cores=1, vms={"200": f"name: desk\nmemory: 8192\n\n{section}"})
    found = judged(facts_of(plant))
    assert found["gpu_driver", "0000:41:00.0"]["verdict"] == "pass"
    assert ("vm_hostpci", None) in found
    if verdict is None:
        assert ("guest_pending_devices", "vm:200") not in found
    else:
        finding = found["guest_pending_devices", "vm:200"]
        assert (finding["verdict"], finding["reason"]) == (verdict, reason)


# -- the wrong side of the host ---------------------------------------------------------------------------------------

BOUND = "numa: 1\nnuma0: cpus=0-15,hostnodes={},memory=65536,policy=bind\n"
AWAY = "0000:01:00.0 is at node0 (0-31,64-95)"
AWAY_FROM_MEMORY = "0000:01:00.0 is at node0, the memory at node 1"


@pytest.mark.parametrize("lines, cpus, memory", [
    (BOUND.format(1), "fail: bound to no CPUs: it may run on all CPUs of the host", f"fail: {AWAY_FROM_MEMORY}"),
    (BOUND.format(0), "fail: bound to no CPUs: it may run on all CPUs of the host", "pass: bound to node 0"),
    ("affinity: 0-31\n" + BOUND.format(1), "pass: bound to CPUs 0-31, beside 0000:01:00.0",
     f"fail: {AWAY_FROM_MEMORY}"),
    ("affinity: 32-63\n" + BOUND.format(0), f"fail: bound to CPUs 32-63: {AWAY}", "pass: bound to node 0"),
    ("affinity: 0-31\n", "pass: bound to CPUs 0-31, beside 0000:01:00.0", None),
    ("affinity: all\n", "unknown: the CPUs that it may use could not be read: "
                        "what it is bound to is no list of CPUs", None),
    ("affinity: 0-31\nnuma0: cpus=0-15,hostnodes=1,memory=65536,policy=bind\n",      # without numa: 1 it does nothing
     "pass: bound to CPUs 0-31, beside 0000:01:00.0", None),
])
def test_cpus_and_memory_of_a_vm_are_both_looked_at(facts_of, lines, cpus, memory):
    """A VM with its memory on node 1 and its GPU on node 0 is not beside it."""
    def plant(tree):
        story_before(tree, cores=1, vms={"200": f"cores: 16\nmemory: 65536\nhostpci0: 0000:01:00.0\n{lines}"})
    found = {check: f"{finding['verdict']}: {finding['reason']}"
             for (check, subject), finding in judged(facts_of(plant)).items() if subject == "vm:200"}
    assert (found["guest_cpus"], found.get("guest_memory")) == (cpus, memory)
