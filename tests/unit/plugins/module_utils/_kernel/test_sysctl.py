# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel.sysctl import (
    SYSCTLS,
    key_to_path,
    read,
    read_sysctl,
)


@pytest.mark.parametrize(("key", "path"), [
    ("vm.swappiness", "/proc/sys/vm/swappiness"),
    ("vm/swappiness", "/proc/sys/vm/swappiness"),
    ("net.ipv4.tcp_rmem", "/proc/sys/net/ipv4/tcp_rmem"),
    ("net/ipv4/conf/eth0.100/rp_filter", "/proc/sys/net/ipv4/conf/eth0.100/rp_filter"),
    ("net.ipv4.conf.eth0/100.rp_filter", "/proc/sys/net/ipv4/conf/eth0.100/rp_filter"),
    ("net.ipv4.conf.veth101i0.forwarding", "/proc/sys/net/ipv4/conf/veth101i0/forwarding"),
    ("net.ipv6.conf.br-lan:1.mtu", "/proc/sys/net/ipv6/conf/br-lan:1/mtu"),
])
def test_keys(key, path):
    assert key_to_path(key) == path


@pytest.mark.parametrize("key", [
    "", "swappiness", ".", "/", "vm.", ".vm.swappiness", "vm..swappiness", "vm//swappiness",
    "/proc/sys/vm/swappiness", "vm/../kernel/core_pattern", "../vm/swappiness", "vm./.swappiness", "vm.//.swappiness",
    "vm/./swappiness", "vm.swap piness", "vm.swappiness\n", "vm.swappiness\0", "vm.*", "vm.swäppiness", "-p.x",
])
def test_what_is_no_key_is_refused_by_name(key):
    with pytest.raises(ValueError) as caught:
        key_to_path(key)
    assert repr(key) in str(caught.value)


def test_a_path_is_refused_with_the_form_to_use():
    with pytest.raises(ValueError, match=r"give it without /proc/sys, as in vm\.swappiness"):
        key_to_path("/proc/sys/vm/swappiness")


def test_text_is_the_kernels_own(tree, host):
    tree.sysctl("net.ipv4.tcp_rmem", "4096\t131072\t6291456")
    assert read_sysctl(host, "net.ipv4.tcp_rmem").value == "4096\t131072\t6291456"


def test_numa_balancing_is_not_taken_for_a_boolean(tree, host):
    tree.sysctl("kernel.numa_balancing", 2)
    assert read(host)["kernel.numa_balancing"] == ("ok", "2", None)


def test_every_key_is_there_even_on_an_empty_host(host):
    facts = read(host)
    assert tuple(facts) == SYSCTLS
    assert {reading.status for reading in facts.values()} == {"absent"}


def test_keys_are_named_once():
    assert len(set(SYSCTLS)) == len(SYSCTLS)
