# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is proposed for hosts of all kinds. Expected places are worked out by hand from docs/placement.md."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._placement.document import placement

import neutral_facts
import neutral_placement
from neutral_facts import lacking, ok
from placed_guests import FIRST, SECOND, host, lxc, ten_guests, vm
from placement_checker import check


def proposed(facts):
    """placement.json, held against the rules of Proxmox VE, and `{subject: entry}`."""
    made = placement("pve1", {"facts": facts, "collected_at": "2026-12-01T04:00:00Z"})
    check(made, facts)
    return made, {guest["subject"]: guest for guest in made["guests"]}


def test_ten_guests_placed_badly():
    """Node 0: 200 (two GPUs, 32 vCPUs), 201 and 202; node 1: 204 and 101 beside 102, which is right, and 203, whose
    128 GiB no longer fit on node 0 with the 640 GiB of the others (768 less a twentieth)."""
    made, guests = proposed(ten_guests())
    assert {subject: guest["proposed"]["cpus"] for subject, guest in guests.items() if guest["changed"]} == {
        "vm:200": "0-31,128-159", "vm:201": "32-47,160-175", "vm:202": "48-55,176-183", "lxc:103": "56-59,184-187",
        "vm:204": "80-111,208-239", "lxc:101": "112-119,240-247", "vm:203": "120-127,248-255"}
    assert guests["vm:200"]["commands"] == [
        "qm set 200 --affinity 0-31,128-159 --numa 1 --numa0 cpus=0-31,hostnodes=0,memory=262144,policy=bind"]
    assert guests["vm:200"]["undo"] == [
        "qm set 200 --revert affinity,numa,numa0    # before its next start",
        "qm set 200 --delete affinity,numa,numa0    # after it"]
    assert guests["vm:201"]["commands"] == [
        "qm set 201 --affinity 32-47,160-175 --numa0 cpus=0-31,hostnodes=0,memory=262144,policy=bind"]
    assert guests["vm:201"]["undo"][1] == (
        "qm set 201 --affinity 64-127,192-255 --numa0 cpus=0-31,hostnodes=1,memory=262144,policy=bind    # after it")
    assert (guests["lxc:101"]["edit"], guests["lxc:101"]["commands"], guests["lxc:101"]["undo"]) == (
        "/etc/pve/lxc/101.conf", ["lxc.cgroup2.cpuset.cpus: 112-119,240-247"], ["# no line lxc.cgroup2.cpuset.cpus"])
    assert not guests["lxc:102"]["changed"] and guests["lxc:102"]["left_alone"] is None
    assert guests["lxc:104"]["left_alone"] == "it has neither a limit of cores nor a GPU"
    assert "vm:205" not in guests       # it neither runs, nor starts with the host, nor has a GPU
    assert made["costs"] == {"memory_mib": 1024 * (256 + 256 + 128 + 128 + 384 + 64 + 8),
                             "free_cores": {"node0": 4, "node1": 0}}
    # 202 and 203 have 16 vCPUs each on the same 16 cores. 104 cores are free of bound guests, 4 of them busy with 4
    # threads of 101 and 103 each half; the unbound 200 and 204 take 48 cores: the table below is checked by
    # placement_figures.py as well.
    assert (made["measure"]["proposed"]["shared_vcpus"], made["measure"]["proposed"]["gpu_distance"]) == (0, 10)
    assert made["measure"]["proposed"]["memory_distance"] == 10


def test_guests_that_are_right_stay():
    """The story: two containers, each bound to the cores beside its GPUs."""
    made, guests = proposed(host(lxc(101, None, 64, FIRST, gpus=(0, 1, 2, 3)),
                                 lxc(102, None, 64, SECOND, gpus=(4, 5, 6, 7))))
    assert [guest["changed"] for guest in guests.values()] == [False, False]
    assert made["measure"]["now"] == made["measure"]["proposed"]


def test_gpus_on_both_nodes_give_two_virtual_nodes():
    _made, guests = proposed(host(vm(200, 16, 64, gpus=(0, 1, 4))))
    # Two thirds of the CPUs at the two GPUs, the rest at the third.
    assert guests["vm:200"]["proposed"]["virtual_nodes"] == [
        "cpus=0-9,hostnodes=0,memory=43690,policy=bind", "cpus=10-15,hostnodes=1,memory=21846,policy=bind"]
    assert guests["vm:200"]["proposed"]["cpus"] == "0-9,64-69,128-137,192-197"


def test_a_vm_that_has_virtual_nodes_too_many_loses_them():
    two = [{"key": f"numa{number}", "cpus": cpus, "hostnodes": str(number), "memory_mib": 32768, "policy": "bind"}
           for number, cpus in enumerate(("0-7", "8-15"))]
    _made, guests = proposed(host(vm(200, 16, 64, nodes="0-1", gpus=(4,), numa_nodes=two)))
    assert guests["vm:200"]["commands"] == [
        "qm set 200 --affinity 64-79,192-207 --numa0 cpus=0-15,hostnodes=1,memory=65536,policy=bind --delete numa1"]
    assert guests["vm:200"]["undo"][1] == (
        "qm set 200 --numa0 cpus=0-7,hostnodes=0,memory=32768,policy=bind "
        "--numa1 cpus=8-15,hostnodes=1,memory=32768,policy=bind --delete affinity    # after it")


@pytest.mark.parametrize("machine, wanted", [
    ({"hotplug_memory": True}, []),                                                     # numaN would be refused
    ({"hugepages": "1024"}, ["cpus=0-15,hostnodes=1,memory=65536,policy=bind"]),
    ({"hugepages": "2"}, ["cpus=0-15,hostnodes=1,memory=65536,policy=bind"])])
def test_what_proxmox_ve_refuses_is_not_proposed(machine, wanted):
    _made, guests = proposed(host(vm(200, 16, 64, gpus=(5,), numa="hugepages" in machine, **machine)))
    assert guests["vm:200"]["proposed"]["virtual_nodes"] == wanted
    assert guests["vm:200"]["proposed"]["cpus"] == "64-79,192-207"


def test_huge_pages_are_not_cut():
    """9 GiB for two GPUs on each side: not 4.5 but 4 and 5."""
    _made, guests = proposed(host(vm(200, 8, 9, gpus=(0, 4), numa=True, hugepages="1024")))
    assert guests["vm:200"]["proposed"]["virtual_nodes"] == [
        "cpus=0-3,hostnodes=0,memory=4096,policy=bind", "cpus=4-7,hostnodes=1,memory=5120,policy=bind"]


@pytest.mark.parametrize("line, why", [
    ("memory: 4096", "changes wait for its next start (memory): start it anew, or take them back, first"),
    ("balloon: 0", None)])
def test_what_waits_for_the_next_start_comes_first(line, why):
    guest = vm(200, 16, 64, gpus=(5,))
    guest["pending"] = [line]
    _made, guests = proposed(host(guest))
    assert (guests["vm:200"]["left_alone"], guests["vm:200"]["changed"]) == (why, why is None)


def test_a_vm_that_does_not_run_has_one_way_back():
    _made, guests = proposed(host(vm(200, 16, 64, gpus=(5,), running=False)))
    assert guests["vm:200"]["undo"] == ["qm set 200 --delete affinity,numa,numa0"]


def test_more_demand_than_cores():
    """Four VMs of 128 vCPUs each on 128 cores with two threads: those with GPUs have their node, and no two of those
    are split over the nodes although all share."""
    made, guests = proposed(host(*(vm(200 + number, 128, 64, gpus=(2 * number,)) for number in range(4))))
    assert [guest["proposed"]["cpus"] for guest in guests.values()] == [FIRST, FIRST, SECOND, SECOND]
    assert made["measure"]["proposed"]["gpu_distance"] == 10
    assert made["measure"]["proposed"]["shared_vcpus"] == 0         # no core is free


def test_memory_that_does_not_fit_beside_the_gpu_goes_to_both_nodes():
    _made, guests = proposed(host(vm(200, 32, 1000, gpus=(0,))))
    # Of 768 GiB a node, 39321 MiB are the host's: 747111 of 1024000 MiB are 72.96 percent, so 23 of 32 vCPUs.
    assert guests["vm:200"]["proposed"]["virtual_nodes"] == [
        "cpus=0-22,hostnodes=0,memory=747111,policy=bind", "cpus=23-31,hostnodes=1,memory=276889,policy=bind"]


def small(nodes, cores, threads=2, **more):
    """Facts of a small host: `nodes` are the CPUs of each."""
    facts = neutral_facts.epyc()
    count = len(nodes)
    rows = [[10 if number == other else 12 for other in range(count)] for number in range(count)]
    facts["numa"]["nodes"] = [{**neutral_facts.node(number, cpus, rows[number], 64), "package": 0}
                              for number, cpus in enumerate(nodes)]
    facts["placement"] = neutral_placement.placement(cores, threads, 4)
    facts["cpu"].update(online=more.pop("online", f"0-{cores * threads - 1}"), kinds=more.pop("kinds", []),
                        isolated=ok(more.pop("isolated", "")))
    facts["gpus"] = [{**gpu, "numa_node": ok(number)} for number, gpu in zip(range(count), facts["gpus"])]
    return facts


def test_four_nodes_on_one_socket():
    facts = small(("0-3,16-19", "4-7,20-23", "8-11,24-27", "12-15,28-31"), 16)
    # Anywhere, 201 is at 11.5 from its GPU in the mean, bound to any other node at 12.
    _made, guests = proposed(host(vm(200, 8, 16, gpus=(2,)), vm(201, 8, 16, gpus=(2,)), facts=facts))
    assert [guest["proposed"]["cpus"] for guest in guests.values()] == ["8-11,24-27", None]


@pytest.mark.parametrize("bound, wanted", [
    (None, None),                           # half of what it may use is near: better than to be bound far away
    ("0-31,128-159", "64-95,192-223")])     # the cores of 200
def test_a_full_node_is_left_by_the_last(bound, wanted):
    """Three VMs of 64 vCPUs at GPUs of node 0, which has 128 threads."""
    made, found = proposed(host(vm(200, 64, 64, "0-31,128-159", gpus=(0,)), vm(201, 64, 64, gpus=(1,)),
                                vm(202, 64, 64, bound, gpus=(2,))))
    assert [guest["proposed"]["cpus"] for guest in found.values()] == ["0-31,128-159", "32-63,160-191", wanted]
    assert made["measure"]["proposed"]["shared_vcpus"] == 0


def test_one_node_has_only_shared_cores_to_mend():
    facts = small(("0-15",), 8)
    made, guests = proposed(host(*(vm(number, 8, 4, "0-3,8-11", held=(4,)) for number in (200, 201)), facts=facts))
    assert guests["vm:200"]["changed"] != guests["vm:201"]["changed"]
    assert made["measure"]["now"]["shared_vcpus"] > 0 == made["measure"]["proposed"]["shared_vcpus"]


def test_performance_cores_go_to_guests_with_gpus():
    """Eight cores with two threads, then eight with one."""
    facts = small(("0-23",), 16, 1, kinds=[{"name": "performance cores", "cpus": "0-15"},
                                           {"name": "efficient cores", "cpus": "16-23"}])
    cores = [f"{cpu}-{cpu + 1}" for cpu in range(0, 16, 2)] + [str(cpu) for cpu in range(16, 24)]
    facts["placement"].update(cores=cores, l3=["0-23"])
    _made, guests = proposed(host(vm(200, 12, 4, "16-23", gpus=(0,), held=(4,)), vm(201, 8, 4, "16-23", held=(4,)),
                                  facts=facts))
    assert [guest["proposed"]["cpus"] for guest in guests.values()] == ["0-11", "16-23"]


def test_cpus_that_are_offline_or_isolated_are_not_given_out():
    facts = small(("0-1,3,8-11", "4-7,12-15"), 8, online="0-1,3-15", isolated="4,12")
    facts["placement"].update(cores=["0,8", "1,9", "10", "3,11", "4,12", "5,13", "6,14", "7,15"],
                              l3=["0-1,3,8-11", "4-7,12-15"])
    _made, guests = proposed(host(vm(200, 7, 4, gpus=(0,)), vm(201, 6, 4, gpus=(1,)), facts=facts))
    assert [guest["proposed"]["cpus"] for guest in guests.values()] == ["0-1,3,8-11", "5-7,13-15"]


def test_without_nodes_memory_is_not_bound():
    facts = small(("0-15",), 8)
    facts["numa"]["nodes"] = []
    _made, guests = proposed(host(vm(200, 8, 4, "0-3,8-11"), vm(201, 8, 4, "0-3,8-11"), facts=facts))
    assert sum(guest["changed"] for guest in guests.values()) == 1
    assert {tuple(guest["proposed"]["virtual_nodes"]) for guest in guests.values()} == {()}


def test_processes_without_proxmox_ve():
    """A service on the wrong socket, a container of an engine, and a process of nobody's."""
    facts = host()
    for place, pid in ((0, 4242), (4, 5151), (5, 6161)):
        facts["gpus"][place].update(users=ok([{"pid": pid, "command": "python3", "container": None}]))
    made = [neutral_placement.process("vllm.service", SECOND),
            neutral_placement.process("0123456789ab", "0-255", container="0123456789ab", pids=[5151]),
            neutral_placement.process("python3", "0-255", pids=[6161])]
    facts["placement"]["processes"] = ok(made)
    _made, guests = proposed(facts)
    assert guests["process:vllm.service"]["commands"] == [
        "systemctl set-property vllm.service AllowedCPUs=0-63,128-191"]
    assert guests["process:vllm.service"]["undo"] == ["systemctl set-property vllm.service AllowedCPUs=64-127,192-255"]
    # Four GPUs at each node of 128 CPUs: 32 CPUs for each.
    assert guests["process:0123456789ab"]["commands"] == [
        "docker update --cpuset-cpus 64-79,192-207 0123456789ab    # podman update, where it is Podman's"]
    assert guests["process:python3"]["commands"] == ["taskset --all-tasks --cpu-list --pid 80-95,208-223 6161"]
    assert guests["process:python3"]["undo"] == [
        'taskset --all-tasks --cpu-list --pid "$(cat /sys/devices/system/cpu/online)" 6161']


def test_the_first_version_of_control_groups_has_another_key():
    facts = host(lxc(101, 16, 64, gpus=(6,)))
    facts["kernel"]["parameters"].append({"name": "systemd.unified_cgroup_hierarchy", "value": "0"})
    _made, guests = proposed(facts)
    assert guests["lxc:101"]["commands"] == ["lxc.cgroup.cpuset.cpus: 64-79,192-207"]


@pytest.mark.parametrize("name", ["guests", "processes"])
def test_what_is_not_known_is_not_guessed(name):
    facts = host()
    facts["placement"][name] = lacking("denied")
    made = placement("pve1", {"facts": facts, "collected_at": "2026-12-01T04:00:00Z"})
    assert (made["guests"], made["lacking"]) == ([], f"its {name} are not known (denied)")
    assert made["measure"] == {"now": None, "proposed": None}
