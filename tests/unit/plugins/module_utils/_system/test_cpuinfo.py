# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._system.cpuinfo import CpuInfo, parse_cpuinfo, read_cpuinfo

TWO_SOCKETS = """\
processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 26
model\t\t: 2
model name\t: AMD EPYC 9335 32-Core Processor
stepping\t: 1
microcode\t: 0xb002147
physical id\t: 0
siblings\t: 2
core id\t\t: 0
cpu cores\t: 1
flags\t\t: fpu tsc constant_tsc cppc
bugs\t\t: spectre_v1
power management: ts ttp tm

processor\t: 1
vendor_id\t: AuthenticAMD
cpu family\t: 26
model\t\t: 2
model name\t: AMD EPYC 9335 32-Core Processor
stepping\t: 1
microcode\t: 0xb002116
physical id\t: 1
siblings\t: 2
core id\t\t: 0
cpu cores\t: 1
flags\t\t: fpu tsc constant_tsc cppc hypervisor

"""
ARM = "processor\t: 0\nBogoMIPS\t: 2000.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n\n"


def test_all_that_x86_prints():
    assert parse_cpuinfo(TWO_SOCKETS) == CpuInfo(
        vendor="AuthenticAMD", family=26, model=2, stepping=1, model_name="AMD EPYC 9335 32-Core Processor",
        microcode=("0xb002116", "0xb002147"),
        microcode_cpus=({"revision": "0xb002116", "cpus": "1"}, {"revision": "0xb002147", "cpus": "0"}),
        flags=frozenset({"fpu", "tsc", "constant_tsc", "cppc"}),
        cores=frozenset({("0", "0"), ("1", "0")}))


def test_arm_prints_almost_nothing_of_it():
    assert parse_cpuinfo(ARM) == CpuInfo(None, None, None, None, None, (), (), frozenset(), frozenset())


@pytest.mark.parametrize("text", ["unknown", "", "\u00b2", "-1", "9" * 5000])
def test_stepping_that_is_no_number(text):
    assert parse_cpuinfo(f"processor\t: 0\nmodel\t\t: 1\nstepping\t: {text}\n").stepping is None


def test_one_revision_needs_no_list():
    assert parse_cpuinfo(TWO_SOCKETS.replace("0xb002116", "0xb002147")).microcode_cpus == ()


def test_revisions_are_not_assigned_where_a_line_is_missing():
    assert parse_cpuinfo(TWO_SOCKETS.replace("processor\t: 1\n", "")).microcode_cpus == ()


def test_cores_are_unknown_where_a_line_is_missing():
    assert parse_cpuinfo(TWO_SOCKETS.replace("core id\t\t: 0\n", "", 1)).cores == frozenset()


def test_empty_file_and_no_file(tree, host):
    assert read_cpuinfo(host).status == "absent"
    tree.file("/proc/cpuinfo", "")
    assert read_cpuinfo(host).value.flags == frozenset()
