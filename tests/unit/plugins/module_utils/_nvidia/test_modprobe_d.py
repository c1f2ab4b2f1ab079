# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.reading import Reading, ok
from ansible_collections.gpuhost.tuning.plugins.module_utils._nvidia import modprobe_d

from hosts.faulty import FaultyHost
from hosts.nvidia import plant_initramfs, plant_modprobe

RELEASE = "6.8.12-9-pve"


def lines(host):
    return [(line["path"], line["keyword"], line["module"], line["text"])
            for line in modprobe_d.read_lines(host).value]


def test_lines_about_these_modules_with_the_time_of_their_file(tree, host):
    plant_modprobe(tree, "# why\noptions nvidia NVreg_EnableResizableBar=1\n\nblacklist  nouveau\nblacklist nvidiafb\n"
                         "options kvm ignore_msrs=1\nsoftdep nvidia pre: vfio-pci\n", time="2026-11-20T08:00:00Z")
    assert modprobe_d.read_lines(host) == ok([
        {"path": "/etc/modprobe.d/nvidia.conf", "modified": "2026-11-20T08:00:00Z", "keyword": "options",
         "module": "nvidia", "text": "NVreg_EnableResizableBar=1"},
        {"path": "/etc/modprobe.d/nvidia.conf", "modified": "2026-11-20T08:00:00Z", "keyword": "blacklist",
         "module": "nouveau", "text": ""}])


@pytest.mark.parametrize("text, found", [
    ("options nvidia-drm modeset=1", [("options", "nvidia_drm", "modeset=1")]),
    ("install nouveau /bin/false", [("install", "nouveau", "/bin/false")]),
    ("options nvidia A=1 \\\n  B=2", [("options", "nvidia", "A=1    B=2")]),
    ('\toptions nvidia NVreg_RegistryDwords="A=1;B=2"', [("options", "nvidia", 'NVreg_RegistryDwords="A=1;B=2"')]),
    ("#options nvidia A=1\noptions\nblacklist\n\\\n", []),
    ("alias nvidia off\noptionsnvidia x", []),
])
def test_forms_of_a_line(text, found):
    assert modprobe_d.parse_config(text) == found


def test_files_in_the_order_of_their_names_and_the_first_of_one_name(tree, host):
    """man 5 modprobe.d: /etc hides a file of the same name in /usr/lib."""
    tree.file("/usr/lib/modprobe.d/b.conf", "options nvidia B=1").file("/etc/modprobe.d/b.conf", "options nvidia B=2")
    tree.file("/usr/lib/modprobe.d/a.conf", "options nvidia A=1")
    tree.file("/etc/modprobe.d/c.conf.bak", "options nvidia C=1")
    tree.link("/etc/modprobe.d/z.conf", "/dev/null").file("/usr/lib/modprobe.d/z.conf", "blacklist nvidia")
    assert lines(host) == [("/usr/lib/modprobe.d/a.conf", "options", "nvidia", "A=1"),
                           ("/etc/modprobe.d/b.conf", "options", "nvidia", "B=2")]


def test_a_file_that_may_not_be_read_makes_all_of_it_unknown(tree):
    plant_modprobe(tree, "options nvidia A=1")
    host = FaultyHost(str(tree.root))
    host.read_faults["/etc/modprobe.d/nvidia.conf"] = 13
    assert modprobe_d.read_lines(host).status == "denied"


@pytest.mark.parametrize("name", ["initrd.img-6.8.12-9-pve", "initramfs-6.8.12-9-pve.img", "initrd-6.8.12-9-pve"])
def test_the_initramfs_of_the_running_kernel(tree, host, name):
    plant_initramfs(tree, "6.14.11-4-pve")
    assert modprobe_d.read_initramfs(host, RELEASE).status == "absent"
    tree.file(f"/boot/{name}", b"x").made(f"/boot/{name}", "2026-11-01T06:00:00Z")
    assert modprobe_d.read_initramfs(host, RELEASE) == ok({"path": f"/boot/{name}", "modified": "2026-11-01T06:00:00Z"})
    assert modprobe_d.read_initramfs(host, None).status == "absent"


def test_parameters_that_somebody_set_and_those_that_matter_anyway(tree, host):
    plant_modprobe(tree, "options nvidia NVreg_X=1\noptions nvidia-uvm uvm_debug_prints=1 uvm_disable_hmm=1\n")
    tree.file("/sys/module/nvidia_uvm/parameters/uvm_disable_hmm", "N")
    facts = modprobe_d.read(host, RELEASE, True)
    assert [(one["module"], one["name"], one["value"].value) for one in facts["module_parameters"]] == [
        ("nvidia_uvm", "uvm_disable_hmm", "N"), ("nvidia_drm", "modeset", None),
        ("nvidia_uvm", "uvm_debug_prints", None)]


def test_without_a_gpu_nothing_is_looked_for(tree, host):
    plant_modprobe(tree, "options nvidia NVreg_X=1\n")
    assert modprobe_d.read(host, RELEASE, False) == {
        "modprobe": Reading("absent", None, "not checked: no NVIDIA GPU"),
        "initramfs": Reading("absent", None, "not checked: no NVIDIA GPU"), "module_parameters": []}
