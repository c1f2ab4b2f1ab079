# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An archive as sos makes it, of a host that does not exist."""
from __future__ import annotations

import io
import tarfile

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.importing import import_files
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.recorded_host import Refused
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._intake.sosreport import read_sosreport

from bug_report import CMDLINE, DMIDECODE, GPU, NUMACTL, hexdump, port_config

TOP = "sosreport-node5-2026-11-29-abcdef/"
LSPCI = ("0000:00:01.0 PCI bridge [0604]: Maker Port [8086:460d]\n\tKernel driver in use: pcieport\n"
         f"{hexdump(port_config(256))}\n{GPU} 3D controller [0302]: NVIDIA Corporation X [10de:26b9] (rev a1)\n"
         "\tKernel driver in use: nvidia\n\n-[0000:00]---01.0-[01]----00.0\n")
FILES = {
    "proc/cmdline": f"{CMDLINE}\n", "proc/meminfo": "MemTotal: 1000 kB\nSwapTotal: 0 kB\n",
    "sys/kernel/mm/ksm/run": "0\n", "etc/modprobe.d/nvidia.conf": "options nvidia NVreg_X=1\n",
    "etc/shadow": "root:secret\n", "etc/ssh/ssh_host_key": "secret\n", "proc/4711/environ": "TOKEN=secret\n",
    "var/log/messages": "x\n", "sos_commands/kernel/sysctl_-a": "vm.swappiness = 10\nkernel.numa_balancing = 0\n"
    + "".join(f"net.made_up_{number} = 1\n" for number in range(600)),
    "sos_commands/host/hostname": "node5.example.org\n", "sos_commands/pci/lspci": LSPCI,
    "sos_commands/kernel/dmesg": "[    0.000000] Linux version 5.14.0-1.el9 (x)\n",
    "sos_commands/numa/numactl_--hardware": NUMACTL, "sos_commands/hardware/dmidecode": DMIDECODE,
}


@pytest.fixture
def archive(tmp_path):
    def write(files=None, suffix="xz", extra=()):
        path = tmp_path / f"{TOP[:-1]}.tar.{suffix}"
        with tarfile.open(path, f"w:{suffix}") as members:
            for name, text in (FILES if files is None else files).items():
                member = tarfile.TarInfo(TOP + name)
                member.size, member.mode = len(text.encode()), 0o644
                members.addfile(member, io.BytesIO(text.encode()))
            for member in extra:
                members.addfile(member)
        return path
    return write


@pytest.mark.parametrize("suffix", ["xz", "gz", "bz2"])
def test_files_and_outputs(archive, suffix):
    host = read_sosreport(archive(suffix=suffix))
    assert host.text("/proc/cmdline") == f"{CMDLINE}\n"
    assert host.text("/proc/sys/vm/swappiness") == "10\n"
    assert host.text("/sys/kernel/mm/ksm/run") == "0\n"
    assert host.text("/proc/sys/kernel/osrelease") == "5.14.0-1.el9\n"
    assert host.text("/sys/class/dmi/id/sys_vendor") == "Makers of Machines\n"
    assert host.text("/sys/devices/system/node/node0/cpulist") == "0-3\n"
    assert host.text(f"/sys/devices/pci0000:00/0000:00:01.0/{GPU}/vendor") == "0x10de\n"
    assert "/proc/sys" in host.closed


def test_what_holds_secrets_stays_in_the_archive(archive):
    assert not [path for path in read_sosreport(archive()).files
                if "shadow" in path or "ssh" in path or "4711" in path or path.startswith("/var")]


def test_links_devices_and_paths_that_lead_out_are_left_in_the_archive(archive):
    link, pipe, out = tarfile.TarInfo(TOP + "proc/x"), tarfile.TarInfo(TOP + "sys/p"), tarfile.TarInfo(
        TOP + "proc/../../../evil")
    link.type, link.linkname, pipe.type = tarfile.SYMTYPE, "/etc/shadow", tarfile.FIFOTYPE
    host = read_sosreport(archive(extra=(link, pipe, out)))
    assert not {"/proc/x", "/sys/p"} & (host.files.keys() | host.links.keys())
    assert not [path for path in host.files if "evil" in path]


def test_a_part_of_the_settings_is_not_all_of_them(archive):
    host = read_sosreport(archive({**FILES, "sos_commands/kernel/sysctl_-a": "vm.swappiness = 10\n"}))
    assert "/proc/sys" not in host.closed


def test_an_archive_that_ends_early(archive):
    path = archive(suffix="gz")
    path.write_bytes(path.read_bytes()[:-200])
    host = read_sosreport(path)
    assert host.text("/proc/cmdline") is not None
    assert "ends too early or is damaged" in host.notes[0]


def test_an_archive_of_nothing(archive):
    path = archive({})
    with pytest.raises(Refused):
        import_files([str(path)], None, str(path.parent / "reports"))


def test_it_is_known_by_what_it_holds(archive, tmp_path):
    path = archive()
    [host] = import_files([str(path)], None, str(tmp_path / "reports"))
    assert (host["kind"], host["name"]) == ("sosreport", TOP[:-1])
