# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._pve import guest_details as details
from ansible_collections.gpuhost.tuning.plugins.module_utils._pve import guests

from hosts.nvidia import plant_nvidia
from hosts.proxmox import plant_proxmox

RESOURCES = """\
# of the cluster
vm: 200
\tstate started

ct: 101
\tgroup gpus
\tmax_restart 2
\tstate started

ct: 102
\tstate ignored
"""
GROUPS = "group: gpus\n\tnodes pve1:2,pve2\n\tnofailback 0\n\trestricted 1\n\ngroup: all\n\tnodes pve1,pve2,pve3\n"
RULES = """\
node-affinity: cards
\tnodes pve1,pve3:1
\tresources vm:200,ct:103
\tstrict 1

node-affinity: old
\tdisable 1
\tnodes pve9
\tresources ct:102

resource-affinity: apart
\taffinity negative
\tresources vm:200,ct:101
"""


def ha(host):
    return {entry["guest"]: (entry["state"], entry["nodes"], entry["strict"])
            for entry in details.read_ha(host).value}


def test_guests_of_groups(tree, host):
    tree.file("/etc/pve/ha/resources.cfg", RESOURCES).file("/etc/pve/ha/groups.cfg", GROUPS)
    assert ha(host) == {"vm:200": ("started", None, False), "lxc:101": ("started", ["pve1", "pve2"], True),
                        "lxc:102": ("ignored", None, False)}


def test_guests_of_rules(tree, host):
    tree.file("/etc/pve/ha/resources.cfg", RESOURCES).file("/etc/pve/ha/rules.cfg", RULES)
    assert ha(host) == {"vm:200": ("started", ["pve1", "pve3"], True), "lxc:101": ("started", None, False),
                        "lxc:102": ("ignored", None, False)}


def test_cluster_without_managed_guests(host):
    assert ha(host) == {}


@pytest.mark.parametrize("text", ["", "\tgroup x\n", "ct\n\tgroup x\n", "service: 1\n", "\xff: \0\n"])
def test_odd_resources(tree, host, text):
    tree.file("/etc/pve/ha/resources.cfg", text)
    assert ha(host) == {}


@pytest.mark.parametrize("name", ["resources", "groups", "rules"])
def test_configuration_that_may_not_be_read_hides_who_is_managed(tree, name):
    tree.file("/etc/pve/ha/resources.cfg", RESOURCES).file("/etc/pve/ha/groups.cfg", GROUPS)
    tree.file("/etc/pve/ha/rules.cfg", RULES)

    class Unreadable(Host):
        def read_bytes(self, path, limit=0):
            if path == f"/etc/pve/ha/{name}.cfg":
                raise PermissionError(13, "Permission denied")
            return super().read_bytes(path)

    assert details.read_ha(Unreadable(str(tree.root))).status == "denied"


def test_nodes_at_given_paths_and_in_given_folders(tree, host):
    plant_nvidia(tree, gpus=[("0000:01:00.0", 0), ("0000:41:00.0", 1)])
    tree.device("/dev/sda", 8, 0, kind="b").device("/dev/nvme0n1", 259, 0, kind="b")
    found = details.read_device_nodes(host, {"/dev/nvidia1", "/dev/nvidia-caps", "/dev/nvidia9", "/dev", "/dev/sda"})
    assert [(node["path"], node["type"], node["major"], node["minor"]) for node in found] == [
        ("/dev/nvidia-caps/nvidia-cap1", "c", 235, 1), ("/dev/nvidia-caps/nvidia-cap2", "c", 235, 2),
        ("/dev/nvidia1", "c", 195, 1), ("/dev/sda", "b", 8, 0)]


def details_of(tree, host, container):
    plant_proxmox(tree, containers={"101": container})
    return details.read_details(host, guests.read(host))


@pytest.mark.parametrize(("path", "text", "ordered"), [
    ("/etc/systemd/system/gpu-nodes.service", "[Unit]\nBefore=lxc.service pve-guests.service\n"
                                              "[Service]\nExecStart=/usr/bin/nvidia-modprobe -c 0 -u\n", True),
    ("/etc/systemd/system/gpu-nodes.service", "[Service]\nExecStart=/usr/bin/nvidia-modprobe -u\n", False),
    ("/etc/systemd/system/multi-user.target.wants/nvidia-persistenced.service",
     "[Service]\nExecStartPre=/usr/bin/nvidia-modprobe -u\n", False),
    ("/etc/udev/rules.d/70-gpu.rules", 'KERNEL=="nvidia_uvm", RUN+="/usr/bin/nvidia-modprobe -c0 -u"\n', True),
    ("/usr/lib/udev/rules.d/60-nvidia.rules", 'KERNEL=="nvidia_uvm", RUN+="/bin/mknod /dev/nvidia-uvm"\n', True),
])
def test_what_makes_the_nodes(tree, host, path, text, ordered):
    tree.file(path, text)
    assert details_of(tree, host, "dev0: /dev/nvidia0\n")["node_makers"] == [{"path": path, "ordered": ordered}]


@pytest.mark.parametrize(("path", "text"), [
    ("/etc/systemd/system/gpu-nodes.service", "# nvidia-modprobe was here\n[Service]\nExecStart=/bin/true\n"),
    ("/etc/systemd/system/gpu-nodes.conf", "ExecStart=/usr/bin/nvidia-modprobe -u\n"),
    ("/usr/lib/udev/rules.d/60-drm.rules", "nvidia-modprobe\n"),
])
def test_what_makes_no_nodes(tree, host, path, text):
    tree.file(path, text)
    assert details_of(tree, host, "dev0: /dev/nvidia0\n")["node_makers"] == []


def test_without_a_container_that_uses_gpus_nobody_looks_for_units(tree):
    tree.file("/etc/systemd/system/gpu-nodes.service", "ExecStart=/usr/bin/nvidia-modprobe -u\n")
    plant_proxmox(tree, containers={"101": "cores: 2\n"})
    seen = []

    class Watching(Host):
        def read_bytes(self, path, *limit):
            seen.append(path)
            return super().read_bytes(path, *limit)

    host = Watching(str(tree.root))
    assert details.read_details(host, guests.read(host))["node_makers"] == []
    assert not [path for path in seen if path.startswith("/etc/systemd")]


def test_name_and_cluster(tree, host):
    tree.folder("/etc/pve/nodes/pve2")
    found = details_of(tree, host, "cores: 2\n")
    assert (found["node"], found["cluster_nodes"]) == ("pve1", ["pve1", "pve2"])


def test_mappings_are_read_where_the_manager_has_guests(tree, host):
    mapping = "rtx\n\tmap node=pve1,path=0000:41:00.0\n\tmap node=pve2,path=0000:01:00.0\n"
    plant_proxmox(tree, vms={"200": "hostpci0: mapping=rtx\n"}, mapping=mapping)
    assert details.read_details(host, guests.read(host))["mappings"] == []
    tree.file("/etc/pve/ha/resources.cfg", RESOURCES)
    assert details.read_details(host, guests.read(host))["mappings"] == [{"name": "rtx", "nodes": ["pve1", "pve2"]}]
