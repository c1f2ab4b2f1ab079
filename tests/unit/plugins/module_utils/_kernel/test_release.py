# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import Reading, ok
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel.log import parse_text, read_lines
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel.release import (
    parse_cmdline,
    parse_unknown_parameters,
    reaches_boot,
    read,
    unknown_parameters,
)
from hypothesis import given
from hypothesis import strategies as st

from hosts.kernel import plant_kernel, plant_log
from hosts.tree import Tree

NAMES = st.text(alphabet="abcxyz_.-0189", min_size=1, max_size=12).filter(lambda name: name != "--")
VALUES = st.one_of(st.none(), st.text(alphabet="abcXYZ0189=,:/()@ -", max_size=12))


def pairs(text):
    return [(parameter["name"], parameter["value"]) for parameter in parse_cmdline(text)]


@pytest.mark.parametrize(("text", "parameters"), [
    ("", []),
    ("quiet", [("quiet", None)]),
    ("root=UUID=0-1 ro", [("root", "UUID=0-1"), ("ro", None)]),
    ("console=tty0 console=ttyS0,115200n8", [("console", "tty0"), ("console", "ttyS0,115200n8")]),
    ("amd_pstate= iommu=pt\n", [("amd_pstate", ""), ("iommu", "pt")]),
    ("  a\t b  ", [("a", None), ("b", None)]),
    ('dyndbg="file drivers/usb/* +p" quiet', [("dyndbg", "file drivers/usb/* +p"), ("quiet", None)]),
    ('"dyndbg=module nvme +p" quiet', [("dyndbg", "module nvme +p"), ("quiet", None)]),
    ('"one word" two', [("one word", None), ("two", None)]),
    ('a=b" c"d e', [("a", 'b" c"d'), ("e", None)]),
    ('a="never closed b', [("a", "never closed b")]),
    ('a="" b', [("a", ""), ("b", None)]),
    ("BOOT_IMAGE=(hd0,gpt3)/vmlinuz rw", [("BOOT_IMAGE", "(hd0,gpt3)/vmlinuz"), ("rw", None)]),
    ("amd-pstate=x amd_pstate=y", [("amd-pstate", "x"), ("amd_pstate", "y")]),
    ("quiet -- single iommu=pt", [("quiet", None)]),
    ("a=-- b", [("a", "--"), ("b", None)]),
    ("=odd", [("=odd", None)]),
    ('" "', [(" ", None)]),
    ('""', []),
])
def test_cut_as_the_kernel_does(text, parameters):
    assert pairs(text) == parameters


@given(st.lists(st.tuples(NAMES, VALUES), max_size=12))
def test_what_is_written_is_found(parameters):
    words = [name if value is None else f'{name}="{value}"' if " " in value or not value else f"{name}={value}"
             for name, value in parameters]
    assert pairs(" ".join(words)) == parameters


@given(st.text(max_size=60))
def test_any_text_is_cut(text):
    for parameter in parse_cmdline(text):
        assert parameter["name"]
        assert parameter["name"] in text


def unknown(*texts):
    return parse_unknown_parameters([{"seconds": 0.7, "text": text} for text in texts])


@pytest.mark.parametrize(("text", "found"), [
    ('Unknown kernel command line parameters "spectre_v2=off spec_store_bypass_disable=off", will be passed to user '
     "space.", ["spectre_v2=off", "spec_store_bypass_disable=off"]),
    ('Unknown kernel command line parameters "splash BOOT_IMAGE=/boot/vmlinuz-6.4.0", will be passed to user space.',
     ["splash", "BOOT_IMAGE=/boot/vmlinuz-6.4.0"]),
    ('Unknown kernel command line parameters "pcie_acs_override=downstream longer_than_a_li',
     ["pcie_acs_override=downstream", "longer_than_a_li"]),
    ("AMD-Vi: Unknown option - 'on'", ["amd_iommu=on"]),
    ("AMD-Vi: Unknown option - 'pt,pgtbl_v2'", ["amd_iommu=pt"]),
    ("DMAR: Unknown option - 'pt'", ["intel_iommu=pt"]),
    ("PCI: Unknown option `noacs'", ["pci=noacs"]),
    ("pci 0000:01:00.0: Unknown header type 7f", []),
    ("nvidia_peermem: Unknown symbol ib_register_peer_memory_client (err -22)", []),
    ("Kernel command line: amd_iommu=on", []),
])
def test_what_the_kernel_calls_unknown(text, found):
    assert unknown(text) == found


def test_said_twice_is_listed_once():
    assert unknown("AMD-Vi: Unknown option - 'on'", "AMD-Vi: Unknown option - 'on'") == ["amd_iommu=on"]


def test_a_log_from_the_start_without_complaints_is_a_clean_bill(tree, host):
    plant_kernel(tree)
    assert read(host)["unknown_parameters"].value == []


def test_a_log_that_was_overwritten_proves_nothing(tree, host):
    plant_kernel(tree)
    plant_log(tree, (86400.5, "vmbr0: port 2(veth101i0) entered forwarding state"))
    facts = read(host)
    assert facts["unknown_parameters"] == ("absent", None, "the kernel log does not reach back to the boot")
    assert facts["log"].value == {"first_seconds": 86400.5, "lines": 1}


def test_a_complaint_counts_even_in_the_rest_of_a_log():
    found = unknown_parameters(ok([{"seconds": 0.76, "text": "AMD-Vi: Unknown option - 'on'"}]))
    assert found.value == ["amd_iommu=on"]


def test_no_log_no_answer():
    denied = Reading("denied", None, "EPERM (Operation not permitted)")
    assert unknown_parameters(denied) == denied


def test_start_of_a_boot():
    assert reaches_boot([{"seconds": 0.0, "text": "Linux version 6.8.12-9-pve (build@proxmox)"}])
    assert not reaches_boot([{"seconds": 0.0, "text": "Command line: quiet"}])


def test_section(tree, host):
    plant_kernel(tree, release="6.8.12-9-pve", build="#1 SMP PREEMPT_DYNAMIC PMX 6.8.12-9", lockdown="integrity",
                 cmdline="root=/dev/mapper/pve-root ro amd_iommu=on", log=((0.9, "AMD-Vi: Unknown option - 'on'"),))
    facts = read(host)
    assert facts["release"].value == "6.8.12-9-pve"
    assert facts["build"].value == "#1 SMP PREEMPT_DYNAMIC PMX 6.8.12-9"
    assert facts["cmdline"].value == "root=/dev/mapper/pve-root ro amd_iommu=on"
    assert facts["parameters"] == [{"name": "root", "value": "/dev/mapper/pve-root"}, {"name": "ro", "value": None},
                                   {"name": "amd_iommu", "value": "on"}]
    assert facts["unknown_parameters"].value == ["amd_iommu=on"]
    assert facts["lockdown"].value == "integrity"
    assert facts["log"].value == {"first_seconds": 0.0, "lines": 4}


def test_empty_host(host):
    facts = read(host)
    assert facts.pop("parameters") == []
    assert {reading.status for reading in facts.values()} == {"absent"}


def test_a_log_that_was_read_before_is_used(tree, host):
    plant_kernel(tree)
    assert read(host, ok([]))["log"].value == {"first_seconds": None, "lines": 0}


def test_present_but_ignored_on_the_public_host(field_files, tmp_path):
    """The command line has both parameters, and the kernel says that it does not know them."""
    proc = field_files / "proc"
    tree = Tree(tmp_path / "host")
    tree.file("/proc/cmdline", (proc / "rtxpro6000x8_esc8000a-e13p__cmdline.txt").read_text())
    tree.kernel_log((proc / "rtxpro6000x8_esc8000a-e13p__dmesg.txt").read_text())
    facts = read(Host(str(tree.root)))
    assert facts["unknown_parameters"].value == ["spectre_v2=off", "spec_store_bypass_disable=off"]
    given_ = [f"{parameter['name']}={parameter['value']}" for parameter in facts["parameters"]]
    assert set(facts["unknown_parameters"].value) < set(given_)
    assert "iommu=off" in given_


@pytest.mark.parametrize(("name", "parameter", "times"), [
    ("ocp-baremetal-worker1__cmdline.txt", {"name": "isolcpus", "value": "managed_irq,0-4,11-79"}, 1),
    ("ocp-baremetal-worker1__cmdline.txt", {"name": "skew_tick", "value": "1"}, 2),
    ("sos_coreos_vm__cmdline.txt", {"name": "console", "value": "ttyS0,115200n8"}, 1),
])
def test_public_command_lines(field_files, name, parameter, times):
    assert parse_cmdline((field_files / "proc" / name).read_text()).count(parameter) == times


def test_public_log_has_its_first_line(field_files):
    assert reaches_boot(parse_text((field_files / "proc/rtxpro6000x8_esc8000a-e13p__dmesg.txt").read_text()))


def test_this_machine():
    host = Host()
    facts = read(host, read_lines(host))
    assert facts["release"].value == os.uname().release
    assert facts["cmdline"].ok
