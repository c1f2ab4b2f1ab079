# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._recording.secrets import withhold

CONFIG = "/etc/pve/nodes/pve1/qemu-server/200.conf"


@pytest.mark.parametrize("path, data, kept", [
    ("/proc/1/environ", b"HOME=/\0API_KEY=sesame\0container=lxc\0", b"container=lxc\0"),
    ("/proc/1/environ", b"HOME=/\0", b""),
    (CONFIG, b"# call Bob, 555-1234\nname: desk\n", b"#\nname: desk\n"),
    (CONFIG, b"cipassword: $5$abc\nsshkeys: ssh-rsa%20AAAA\nname: desk\n",
     b"cipassword: withheld\nsshkeys: withheld\nname: desk\n"),
    ("/etc/pve/nodes/pve1/lxc/101.conf", b"lxc.environment: HF_TOKEN=hf_1\nlxc.environment.runtime = A=b\ncores: 2\n",
     b"lxc.environment: withheld\nlxc.environment.runtime = withheld\ncores: 2\n"),
    ("/etc/pve/mapping/pci.cfg", b"gpu4\n\tdescription Bob's card\n\tmap id=10de:2bb5,node=pve1\n",
     b"gpu4\n\tdescription withheld\n\tmap id=10de:2bb5,node=pve1\n"),
    ("/proc/99/cmdline", b"kvm\0-object\0secret,id=s0,data=hush\0-id\x00200\0",
     b"kvm\0-object\0secret,id=s0,data=withheld\0-id\x00200\0"),
    ("/proc/cmdline", b"root=/dev/sda1 rd.password=hush quiet\n", b"root=/dev/sda1 rd.password=withheld quiet\n"),
    ("/sys/devices/pci0000:00/0000:00:01.0/config", b"\x86\x80token=x", b"\x86\x80token=x"),
    ("/etc/os-release", b"# a comment\nID=debian\n", b"# a comment\nID=debian\n"),
])
def test_what_is_withheld(path, data, kept):
    assert withhold(path, data) == kept
