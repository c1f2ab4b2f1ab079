# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Read the output of `pvereport` on a Proxmox VE node (pve-manager, PVE/Report.pm): guests, versions and others.

It consists of sections `==== title ====` that contain `# command` with its output.
"""
from __future__ import annotations

import re
from collections.abc import Iterable

from .gathered import Gathered
from .lscpu import put_lscpu
from .lspci import parse_devices
from .recorded_host import RecordedHost, clean_path
from .report_facts import finish

LACKS = "pvereport does not print it"
KIND = "pvereport"
OUTPUT_LIMIT = 50_000       # lines of one command

_TITLE = re.compile(r"==== .* ====")
_COMMAND = re.compile(r"# (\S.*)")
_CAT = re.compile(r"cat (/(?:etc|proc)/\S+)(?: 2>/dev/null)?")
_GUEST = re.compile(r"/etc/pve/(qemu-server|lxc)/+(\d{1,9}\.conf)")
_VM = re.compile(r" *(\d{1,9}) +\S.* (running|stopped|paused|suspended|prelaunch) +[\d.]+ +[\d.]+ +(\d{1,9})\s*")
_CONTAINER = re.compile(r"(\d{1,9}) +(running|stopped)\b.*")
_PACKAGE = re.compile(r"([a-z0-9][a-z0-9.+-]*): (\d\S*)(?: .*)?")
_RUNNING = re.compile(r"\(running kernel: (\S+)\)")
# Both a command and a comment in a printed file follow `#`: these prefixes belong to commands.
_PROGRAMS = ("hostname", "date", "pveversion", "cat ", "top ", "pvesubscription", "lscpu", "pvesh", "pvesm", "findmnt",
             "df ", "qm ", "pct ", "ip ", "iptables", "nft ", "pvecm", "ha-manager", "dmidecode", "lspci", "lsblk",
             "ls ", "iscsiadm", "pvs", "lvs", "vgs", "zpool", "zfs", "zarc", "ceph", "pveceph", "multipath", "uptime",
             "proxmox-boot-tool", "efibootmgr", "apt", "ethtool", "ifconfig", "echo", "for ", "pveperf", "dmesg")


def read_pvereport(lines: Iterable[str], name: str) -> RecordedHost:
    host, found = RecordedHost(), Gathered()
    host.open = LACKS
    host.source.update(kind=KIND, name=name)
    outputs = dict(_outputs(lines))
    node = (_first(outputs, "hostname") or "").strip().partition(".")[0]
    if node:
        host.put_line("/proc/sys/kernel/hostname", node)
    _put_versions(host, _first(outputs, "pveversion") or "")
    for command, text in outputs.items():
        cat = _CAT.fullmatch(command)
        if cat is not None and not _GUEST.fullmatch(cat[1]):
            path = clean_path(cat[1])
            if path is not None and "No such file" not in text[:300]:
                host.put(path, text)
    _put_guests(host, outputs, node or "localhost")
    found.devices = parse_devices((_first(outputs, "lspci") or "").splitlines())
    found.all_devices = bool(found.devices)
    found.dmidecode = (_first(outputs, "dmidecode") or "").splitlines()
    put_lscpu(host, _first(outputs, "lscpu") or "")
    host.outer_links["/proc/self/ns/pid"] = "pid:[4026531836]"      # it runs on a node, not in a container
    for path in ("/proc/1/environ", "/run/systemd/container"):
        host.close(path)
    finish(host, found)
    return host


def _outputs(lines: Iterable[str]) -> Iterable[tuple[str, str]]:
    """`(command, its output)`, in order."""
    command, output, before = None, [], ""
    for line in lines:
        start = _COMMAND.fullmatch(line) if not before.strip() else None
        if _TITLE.fullmatch(line) or (start is not None and start[1].startswith(_PROGRAMS)):
            if command is not None:
                yield command, "".join(output)
            command, output = start[1].strip() if start else None, []
        elif command is not None and len(output) < OUTPUT_LIMIT:
            output.append(f"{line}\n")
        before = line
    if command is not None:
        yield command, "".join(output)


def _first(outputs: dict[str, str], program: str) -> str | None:
    return next((text for command, text in outputs.items() if command.split()[0] == program), None)


def _put_versions(host: RecordedHost, text: str) -> None:
    """dpkg's list as far as pveversion names packages, and the running kernel."""
    packages = [found.groups() for line in text.splitlines() if (found := _PACKAGE.fullmatch(line.strip()))]
    if packages:
        host.put("/usr/bin/pveversion", "")
        host.put("/var/lib/dpkg/status", "\n".join(
            f"Package: {name}\nStatus: install ok installed\nVersion: {version}\n" for name, version in packages))
    running = _RUNNING.search(text)
    if running is not None:
        host.put_line("/proc/sys/kernel/osrelease", running[1])


def _put_guests(host: RecordedHost, outputs: dict[str, str], node: str) -> None:
    """The node's guests with their files, and which of them are running."""
    vms, containers = _first(outputs, "qm"), _first(outputs, "pct")
    if vms is None and containers is None:
        return
    home = f"/etc/pve/nodes/{node}"
    for command, text in outputs.items():
        cat = _CAT.fullmatch(command)
        guest = _GUEST.fullmatch(cat[1]) if cat else None
        if guest is not None:
            # The script adds a newline of its own.
            host.put(f"{home}/{guest[1]}/{guest[2]}", text.rstrip("\n") + "\n")
    for kind in ("qemu-server", "lxc"):
        host.list_whole(f"{home}/{kind}")
    host.link("/etc/pve/local", home)
    host.list_whole("/etc/pve")
    for name in ("mapping", "ha", "priv", "datacenter.cfg", "storage.cfg", "nodes"):
        if f"/etc/pve/{name}" not in host.files:
            host.leave_out(f"/etc/pve/{name}", LACKS)
    _put_running(host, vms or "", containers or "")


def _put_running(host: RecordedHost, vms: str, containers: str) -> None:
    for line in vms.splitlines():
        vm = _VM.fullmatch(line)
        if vm is not None and vm[2] != "stopped" and int(vm[3]):
            host.put_line(f"/run/qemu-server/{vm[1]}.pid", vm[3])
            host.put(f"/proc/{vm[3]}/cmdline", f"/usr/bin/kvm\0-id\0{vm[1]}\0")
    host.list_whole("/run/qemu-server")
    host.close("/var/run/qemu-server")
    running = [found[1] for line in containers.splitlines()
               if (found := _CONTAINER.fullmatch(line)) and found[2] == "running"]
    for number in running:
        host.put(f"/sys/fs/cgroup/lxc/{number}/cgroup.events", "populated 1\nfrozen 0\n")
    host.list_whole("/sys/fs/cgroup/lxc")
    for path in ("/sys/fs/cgroup/systemd", "/sys/fs/cgroup/devices"):
        host.close(path)
    host.put("/proc/net/unix", "".join(f"0: 00000002 00000000 00010000 0001 01 1 @/var/lib/lxc/{number}/command\n"
                                       for number in running))
