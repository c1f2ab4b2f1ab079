# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plant a Proxmox VE node: /etc/pve with its guests, and the traces of running guests."""
from __future__ import annotations

import json

from .modules import add_line
from .placement import plant_group
from .processes import plant_process
from .tree import Tree


def plant_proxmox(tree: Tree, version: str = "8.4.1", *, node: str = "pve1", containers: dict[str, str] | None = None,
                  vms: dict[str, str] | None = None, running: tuple[str, ...] = (), mapping: str | None = None) -> Tree:
    """A node with `containers` and `vms` (`{id: text of its .conf}`); `running` lists those that are running.

    `mapping` is the text of /etc/pve/mapping/pci.cfg.
    """
    tree.file("/proc/sys/kernel/hostname", node)
    tree.folder(f"/etc/pve/nodes/{node}/lxc").folder(f"/etc/pve/nodes/{node}/qemu-server")
    tree.link("/etc/pve/local", f"nodes/{node}").link("/etc/pve/lxc", f"nodes/{node}/lxc")
    tree.link("/etc/pve/qemu-server", f"nodes/{node}/qemu-server").folder("/etc/pve/mapping")
    if mapping is not None:
        tree.file("/etc/pve/mapping/pci.cfg", mapping)
    tree.file("/usr/bin/pveversion", "")
    plant_standalone(tree, node)
    add_line(tree, "/var/lib/dpkg/status",
             f"Package: pve-manager\nStatus: install ok installed\nArchitecture: all\nVersion: {version}\n\n")
    tree.file("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory hugetlb pids rdma misc").folder("/run/lxc")
    add_line(tree, "/proc/net/unix", "Num       RefCount Protocol Flags    Type St Inode Path")
    for number, text in (containers or {}).items():
        tree.file(f"/etc/pve/nodes/{node}/lxc/{number}.conf", text)
        if number in running:
            plant_running_container(tree, number)
    for number, text in (vms or {}).items():
        tree.file(f"/etc/pve/nodes/{node}/qemu-server/{number}.conf", text)
        if number in running:
            plant_running_vm(tree, number)
    return tree


def plant_running_container(tree: Tree, number: str) -> Tree:
    """The traces of a running container: its control group, without memory yet, and the socket that lxc listens on."""
    tree.file(f"/sys/fs/cgroup/lxc/{number}/cgroup.events", "populated 1\nfrozen 0")
    plant_group(tree, f"/lxc/{number}")
    return add_line(tree, "/proc/net/unix", "0000000000000000: 00000002 00000000 00010000 0001 01 "
                                            f"4{number} @/var/lib/lxc/{number}/command")


def plant_running_vm(tree: Tree, number: str, pid: int | None = None) -> Tree:
    """The traces of a running VM: its PID file, its process, and its control group."""
    pid = pid or 20000 + int(number)
    plant_group(tree, f"/qemu.slice/{number}.scope")
    tree.file(f"/run/qemu-server/{number}.pid", pid)
    return plant_process(tree, pid, "kvm", ("/dev/kvm",), cgroup=f"0::/qemu.slice/{number}.scope",
                         cmdline=("/usr/bin/kvm", "-id", number, "-pidfile", f"/var/run/qemu-server/{number}.pid"))


def plant_standalone(tree: Tree, node: str = "pve1") -> Tree:
    """The files of pmxcfs on a standalone node, and on a cluster member without a running corosync."""
    return tree.file("/etc/pve/.members", f'{{\n"nodename": "{node}",\n"version": 0\n}}')


def plant_cluster(tree: Tree, node: str = "pve1", *, quorate: bool = True) -> Tree:
    """Make the node a member of a cluster of three."""
    tree.file("/etc/pve/corosync.conf", "totem {\n  cluster_name: farm\n}")
    tree.file("/etc/corosync/corosync.conf", "totem {\n  cluster_name: farm\n}")
    return tree.file("/etc/pve/.members", f'''{{
"nodename": "{node}",
"version": 5,
"cluster": {{ "name": "farm", "version": 3, "nodes": 3, "quorate": {int(quorate)} }},
"nodelist": {{
  "{node}": {{ "id": 1, "online": 1, "ip": "192.0.2.1"}},
  "pve2": {{ "id": 2, "online": {int(quorate)}, "ip": "192.0.2.2"}},
  "pve3": {{ "id": 3, "online": {int(quorate)}, "ip": "192.0.2.3"}}
  }}
}}''')


def plant_ha(tree: Tree, node: str = "pve1", *, nodes: dict[str, str] | None = None,
             services: dict[str, dict[str, str]] | None = None, mode: str = "active", state: str = "active") -> Tree:
    """High availability: states of nodes, `{vm:100: {state, node, target}}`, and the node's local resource manager."""
    tree.file("/etc/pve/ha/manager_status", json.dumps({
        "master_node": node, "timestamp": 1796000000, "node_status": {node: "online", **(nodes or {})},
        "service_status": {name: {"uid": "dXJn", **service} for name, service in (services or {}).items()}}))
    return tree.file(f"/etc/pve/nodes/{node}/lrm_status", json.dumps({
        "mode": mode, "state": state, "results": {}, "timestamp": 1796000000}))


def plant_tasks(tree: Tree, *types: str, guest: str = "101", ended: tuple[str, ...] = ()) -> Tree:
    """Running tasks after some that have ended, in the format of /var/log/pve/tasks/active."""
    upid = f"UPID:pve1:0000A1B2:00C0FFEE:6B0C1A80:{{}}:{guest}:root@pam:"
    return tree.file("/var/log/pve/tasks/active", "\n".join(
        [f"{upid.format(kind)} 1 6B0C1B00 OK" for kind in ended] + [f"{upid.format(kind)} 0" for kind in types]))
