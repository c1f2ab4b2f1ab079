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
        cpus=2, sockets=2, cores=2, kinds=())


def test_arm_prints_almost_nothing_of_it():
    assert parse_cpuinfo(ARM) == CpuInfo(
        None, None, None, None, "Arm Neoverse-V2", (), (), frozenset(), 1, None, None, ())


@pytest.mark.parametrize("text", ["unknown", "", "\u00b2", "-1", "9" * 5000])
def test_stepping_that_is_no_number(text):
    assert parse_cpuinfo(f"processor\t: 0\nmodel\t\t: 1\nstepping\t: {text}\n").stepping is None


def test_one_revision_needs_no_list():
    assert parse_cpuinfo(TWO_SOCKETS.replace("0xb002116", "0xb002147")).microcode_cpus == ()


def test_revisions_are_not_assigned_where_a_line_is_missing():
    assert parse_cpuinfo(TWO_SOCKETS.replace("processor\t: 1\n", "")).microcode_cpus == ()


def test_cores_are_unknown_where_a_line_is_missing():
    without = TWO_SOCKETS.replace("cpu cores\t: 1\n", "")
    assert (parse_cpuinfo(without).sockets, parse_cpuinfo(without).cores) == (2, 2)
    assert parse_cpuinfo(without.replace("core id\t\t: 0\n", "", 1)).cores is None


def package(cpus, cores, ids):
    return "".join(f"processor\t: {cpu}\nphysical id\t: 0\ncore id\t\t: {core}\ncpu cores\t: {cores}\n\n"
                   for cpu, core in zip(cpus, ids))


def test_core_ids_that_repeat_across_the_dies_of_a_package():
    """Two dies in one package (Opteron 6200, Xeon Platinum 9200): both number their cores from 0."""
    info = parse_cpuinfo(package(range(8), 8, [0, 1, 2, 3, 0, 1, 2, 3]))
    assert (info.cpus, info.sockets, info.cores) == (8, 1, 8)


@pytest.mark.parametrize(("lines", "name"), [
    ("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n", "Arm Neoverse-N1"),
    ("CPU implementer\t: 0x41\nCPU part\t: 0xd49\n", "Arm Neoverse-N2"),
    ("CPU implementer\t: 0xc0\nCPU part\t: 0xac3\n", "Ampere Ampere-1"),
    ("CPU implementer\t: 0x41\nCPU part\t: 0xfff\n", "Arm part 0xfff"),
    ("CPU implementer\t: 0x99\nCPU part\t: 0x001\n", "implementer 0x99 part 0x001"),
    ("cpu\t\t: POWER9, altivec supported\n", "POWER9"),
    ("cpu\t\t: POWER7 (architected), altivec supported\n", "POWER7"),
    ("Model Name\t\t: Loongson-3A5000-HV\n", "Loongson-3A5000-HV"),
    ("isa\t\t: rv64imafdcv\nmmu\t\t: sv39\n", None),
])
def test_names_of_other_architectures(lines, name):
    assert parse_cpuinfo(f"processor\t: 0\n{lines}\n").model_name == name


def test_loongarch_begins_with_a_block_about_the_system():
    info = parse_cpuinfo("system type\t\t: generic-loongson-machine\n\nprocessor\t\t: 0\npackage\t\t\t: 0\n"
                         "Model Name\t\t: Loongson-3A5000\n\nprocessor\t\t: 1\nModel Name\t\t: Other\n\n")
    assert (info.model_name, info.cpus) == ("Loongson-3A5000", 2)


def test_empty_file_and_no_file(tree, host):
    assert read_cpuinfo(host).status == "absent"
    tree.file("/proc/cpuinfo", "")
    assert read_cpuinfo(host).value.flags == frozenset()
