# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever text a driver, a guest's configuration or a program hands over: the parsers answer and never raise."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._boot_order import tmpfiles
from ansible_collections.gpuhost.tuning.plugins.module_utils._boot_order.shell_writes import find_writes
from ansible_collections.gpuhost.tuning.plugins.module_utils._boot_order.sysctl_files import decide
from ansible_collections.gpuhost.tuning.plugins.module_utils._boot_order.tuned_files import parse_profile
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import ok
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel.containers import parse_container
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel.device_majors import parse_devices
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel.device_users import (
    parse_locked_limit,
    parse_may_lock,
)
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel.modules import parse_built_in, parse_modules
from ansible_collections.gpuhost.tuning.plugins.module_utils._nvidia import smi
from ansible_collections.gpuhost.tuning.plugins.module_utils._nvidia.log import parse_peer_lines, parse_xids
from ansible_collections.gpuhost.tuning.plugins.module_utils._nvidia.modprobe_d import parse_config
from ansible_collections.gpuhost.tuning.plugins.module_utils._nvidia.proc import (
    parse_information,
    parse_parameters,
    parse_version,
)
from ansible_collections.gpuhost.tuning.plugins.module_utils._pve import config, device_rules
from ansible_collections.gpuhost.tuning.plugins.module_utils._pve.guest_state import parse_command_sockets
from ansible_collections.gpuhost.tuning.plugins.module_utils._system.memory import parse_arcstats, parse_shm
from ansible_collections.gpuhost.tuning.plugins.module_utils._system.network import parse_softnet
from hypothesis import given, settings
from hypothesis import strategies as st

WORDS = st.sampled_from([
    "\n", " ", "\t", ":", "=", ";", ",", "#", "[", "]", "-", "--5", "\u00b2", "\u0663", "195", "hostpci0", "dev0",
    "lxc.mount.entry", "lxc.cgroup2.devices.allow", "c 195:* rwm", "0000:41:00.0", "41:00", "mapping", "map",
    "node=pve1", "path=", "NVRM: Xid (PCI:", "): 79", "nvidia", "Live", "<gpu id='", "'/>", "<nvidia_smi_log>",
    "</nvidia_smi_log>", "/lxc/101", "Device Minor", "vm.swappiness", "net/core/*_max", "/dev/shm", "tmpfs", "size=",
    "options nvidia ", "blacklist nouveau", "\\\n", "CapEff:\t", "Max locked memory ", "ff", "echo 1 > ", "/sys/a/b",
    "/proc/sys/", "for x in ", "$x", "sysctl -w ", "setpci -s ", "CAP_EXP+8.w=", "cpupower frequency-set -g ", "w ",
    "'", "[sysctl]", "${x}", " - - - - "])
TEXT = st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=30).map("".join))


def _everything_of_a_guest(text):
    for section in config.parse_sections(text).values():
        config.container_devices(section)
        device_rules.parse_rules(section)
        for key, value in section:
            config.claimed_addresses(key, value, {"rtx": []})


def _settings_of_files(text):
    return decide([("/a", text), ("/b", "vm.* = 1\n" + text)]), decide([("/a", text)], None)


def _log(text):
    lines = [{"seconds": None, "text": line} for line in text.splitlines()]
    return parse_xids(lines), parse_peer_lines(lines)


def _of_boot(text):
    return list(find_writes(text)), parse_profile("/a", text), list(tmpfiles.parse_lines(text))


@pytest.mark.parametrize("parse", [
    _everything_of_a_guest, _log, _of_boot, smi.parse, parse_built_in, parse_command_sockets, parse_container,
    parse_arcstats, parse_config, parse_devices, parse_information, parse_modules, parse_parameters,
    _settings_of_files])
@settings(max_examples=60, deadline=None)
@given(text=TEXT)
def test_no_text_raises(parse, text):
    parse(text)


@pytest.mark.parametrize("parse", [
    parse_version, lambda text: config.parse_mapping(text, "pve1"), parse_softnet, parse_locked_limit,
    parse_may_lock, lambda text: parse_shm(text, {"MemTotal": 4096})])
@settings(max_examples=60, deadline=None)
@given(text=TEXT)
def test_text_is_understood_or_unparsable(parse, text):
    assert ok(text).map(parse).status in ("ok", "unparsable")
