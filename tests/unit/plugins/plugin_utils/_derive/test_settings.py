# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who would set a sysctl again, which services tune, what shares of memory are set aside, RDMA cards in their slots."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.derive import derive

import neutral_facts as neutral
from neutral_facts import ABSENT, lacking, merge, ok

FILE = "/etc/sysctl.d/99-own.conf"


def host(**changes):
    return derive(merge(neutral.epyc(), changes))["derived"]


def at_boot(*settings, kind="bare_metal", **running):
    found = [{"key": key, "value": value, "file": FILE, "line": line} for line, (key, value) in enumerate(settings, 1)]
    changes = {"managers": {"sysctl": {"settings": ok(found)}}, "identity": {"kind": kind},
               "sysctl": {key.replace("__", "."): ok(value) for key, value in running.items()}}
    return {entry["key"]: (entry["value"], entry["runs"]) for entry in host(**changes)["boot_sysctls"]}


# -- what the next boot sets ------------------------------------------------------------------------------------------

def test_numbers_are_held_against_each_other_however_they_are_spaced():
    assert at_boot(("net.ipv4.tcp_rmem", "4096  131072\t6291456"), ("vm.swappiness", "60"), vm__swappiness="10") == {
        "net.ipv4.tcp_rmem": ("4096 131072 6291456", "4096 131072 6291456"), "vm.swappiness": ("60", "10")}


@pytest.mark.parametrize("written, runs, message", [
    ("10 # low", "10", ("10", "10")), ("0x0a", "10", ("10", "10")), ("", "10", ("", "")),
    ("60 99", "10", ("60", "10"))])
def test_what_the_kernel_does_not_take_is_not_compared(written, runs, message):
    assert at_boot(("vm.swappiness", written), vm__swappiness=runs) == {"vm.swappiness": message}


def test_numbers_that_are_not_given_stay():
    assert at_boot(("net.ipv4.tcp_rmem", "4096 200000")) == {"net.ipv4.tcp_rmem": ("4096 200000", "4096 131072")}


def test_a_face_that_a_later_line_overrules_tells_nothing():
    """Running: dirty_bytes, so dirty_ratio reads 0."""
    running = {"vm__dirty_ratio": "0", "vm__dirty_bytes": "1073741824"}
    assert at_boot(("vm.dirty_ratio", "10"), ("vm.dirty_bytes", "1073741824"), **running) == {
        "vm.dirty_bytes": ("1073741824", "1073741824")}
    assert at_boot(("vm.dirty_bytes", "1073741824"), ("vm.dirty_ratio", "10"), **running) == {
        "vm.dirty_ratio": ("10", "0")}
    assert at_boot(("vm.dirty_ratio", "10"), ("vm.dirty_bytes", "0"), **running) == {"vm.dirty_ratio": ("10", "0")}


@pytest.mark.parametrize("key, kind, told", [
    ("kernel.nmi_watchdog", "bare_metal", True), ("kernel.nmi_watchdog", "vm", False),
    ("vm.nr_hugepages", "bare_metal", False), ("vm.min_free_kbytes", "bare_metal", False)])
def test_what_the_kernel_or_guests_add_to_tells_nothing(key, kind, told):
    assert (key in at_boot((key, "1"), kind=kind)) is told


def test_a_key_that_this_kernel_lacks_tells_nothing():
    settings = ok([{"key": "kernel.numa_balancing", "value": "0", "file": FILE, "line": 1}])
    facts = {"managers": {"sysctl": {"settings": settings}}, "sysctl": {"kernel.numa_balancing": ABSENT}}
    assert host(**facts)["boot_sysctls"] == []
    assert host(managers={"sysctl": {"settings": lacking("denied")}})["boot_sysctls"] == []


# -- where to make it last ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("file, says", [
    (None, "# /etc/sysctl.d/90-local.conf"),
    ("/usr/lib/sysctl.d/10-x.conf",
     "# /etc/sysctl.d/90-local.conf, read after /usr/lib/sysctl.d/10-x.conf, line 7, which sets 60"),
    ("/etc/sysctl.d/99-own.conf",
     "# /etc/sysctl.d/99-own.conf, line 7, sets 60 and is read after /etc/sysctl.d/90-local.conf: change it there"),
    ("/etc/sysctl.d/90-local.conf", "# /etc/sysctl.d/90-local.conf, line 7, sets 60 now: change it there"),
    ("/etc/sysctl.conf",
     "# /etc/sysctl.conf, line 7, sets 60 and is read after /etc/sysctl.d/90-local.conf: change it there"),
])
def test_the_place_depends_on_the_file_that_wins(file, says):
    settings = [] if file is None else [{"key": "vm.swappiness", "value": "60", "file": file, "line": 7}]
    places = host(managers={"sysctl": {"settings": ok(settings)}})["sysctl_places"]
    assert places["vm.swappiness"] == says
    assert places["vm.dirty_ratio"] == "# /etc/sysctl.d/90-local.conf"
    assert places.keys() == neutral.epyc()["sysctl"].keys()


# -- services -----------------------------------------------------------------------------------------------------

def services(*found, **managers):
    return [(entry["service"], entry["active"], entry["state"])
            for entry in host(managers={"services": list(found), **managers})["tuning_services"]]


@pytest.mark.parametrize("name, says", [
    ("tuned", "a profile of its own"), ("power-profiles-daemon", "powerprofilesctl set performance"),
    ("tlp", "its own configuration")])
def test_what_one_can_do_instead_is_what_that_service_offers(name, says):
    found = host(managers={"services": [neutral.service(name, True, running=True)]})["tuning_services"]
    assert says in found[0]["choice"]
    assert ("TuneD" in found[0]["choice"]) == (name == "tuned")


@pytest.mark.parametrize("state, active, says", [
    ({"enabled": True, "running": True}, True, "tlp runs"),
    ({"enabled": True}, True, "tlp is enabled at boot"),                   # it acts and ends
    ({"enabled": True, "masked": True}, False, "tlp is installed but not running"),
    ({}, False, "tlp is installed but not running")])
def test_a_service_that_acts_once_counts_when_it_is_enabled(state, active, says):
    assert services(neutral.service("tlp", True, **state)) == [("tlp", active, says)]


@pytest.mark.parametrize("running, active", [(True, True), (False, False), (None, True)])
def test_a_daemon_counts_when_it_runs_or_nobody_knows(running, active):
    found = services(neutral.service("tuned", True, enabled=True, running=running),
                     tuned_profile=ok("virtual-host"))
    assert [entry[:2] for entry in found] == [("tuned", active)]
    assert ("with the profile virtual-host" in found[0][2]) is active


def test_others_are_left_out():
    assert services(neutral.service("irqbalance", True, running=True), neutral.service("numad")) == []


# -- shares of memory -------------------------------------------------------------------------------------------------

def test_shares_of_memory():
    pools = ok([{"kib": 1048576, "total": 100, "free": 90, "reserved": 13, "nodes": []},
                {"kib": 2048, "total": 512, "free": 512, "reserved": 0, "nodes": []}])
    found = host(memory={"total_kib": ok(400 << 20), "hugepages": pools, "arc": {"limit": ok(50 << 30)}},
                 sysctl={"vm.min_free_kbytes": ok("4194304")})
    # 77 GiB and 1 GiB of 400, 50 of 400, 4 of 400
    assert found["memory_shares"] == {"arc_percent": 12.5, "min_free_percent": 1.0, "unused_hugepages_percent": 19.5,
                                      "unused_hugepages_mib": 79872}
    assert found["static_pools"] == ("77 of 100 pages of 1048576 KiB are free, 512 of 512 pages of 2048 KiB are free")


def test_what_is_not_known_has_no_share():
    found = host(memory={"total_kib": lacking("denied"), "hugepages": ABSENT})
    assert set(found["memory_shares"].values()) == {None}
    assert found["static_pools"] is None


@pytest.mark.parametrize("backlog, share", [
    ({"received": 999000, "dropped": 1000}, 1000.0), ({"received": 0, "dropped": 0}, 0.0)])
def test_share_of_dropped_packets(backlog, share):
    assert host(network={"backlog": ok({**backlog, "squeezed": 0})})["dropped_per_million"] == share


# -- RDMA cards -------------------------------------------------------------------------------------------------------

def card(name, bdf, width, port_width, *, virtual=False):
    def registers(lanes):
        return ABSENT if lanes is None else ok({"max_read_request": 512, "link": {"width": 8, "max_width": lanes}})
    return {"name": name, "bdf": bdf, "node_type": "CA", "vendor": "15b3", "ports": [], "netdevs": [],
            "virtual_function": virtual,
            "pcie": registers(width), "port": registers(port_width)}


def test_a_card_has_the_lanes_of_the_narrower_end():
    devices = [card("mlx5_0", "0000:a1:00.0", 16, 8), card("mlx5_1", "0000:a2:00.0", 8, 16),
               card("mlx5_2", "0000:a3:00.0", 16, None), card("mlx5_3", "0000:a1:00.4", 16, 16, virtual=True),
               card("rxe0", None, None, None)]
    assert [(entry["name"], entry["expected_width"]) for entry in host(rdma={"devices": devices})["rdma_cards"]] == [
        ("mlx5_0", 8), ("mlx5_1", 8), ("mlx5_2", None)]
