# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Read the archive of a sosreport (github.com/sosreport/sos): files of the host, and output of programs."""
from __future__ import annotations

import pathlib
import re
import tarfile
from collections.abc import Iterator

from . import archive
from .gathered import Gathered
from .lines import open_stream
from .lscpu import put_lscpu
from .lspci import merge, parse_devices
from .named_files import WHOLE_SETTINGS, put_settings
from .pci_tree import parse_tree
from .recorded_host import RecordedHost, Refused, clean_path
from .report_facts import finish

LACKS = "the sosreport does not have it"
KIND = "sosreport"
MEMBER_LIMIT = 400_000
FILE_LIMIT = 24 << 20       # bytes of one file; more of a log is not useful here

_TAKEN = re.compile(r"(?:proc|sys|etc)/(?!pki|ssh|shadow|gshadow|X11|selinux)")
_NUMBERED = re.compile(r"proc/\d+/")
_COMMAND = re.compile(r"sos_commands/\w+/(.+)")


def read_sosreport(path: pathlib.Path) -> RecordedHost:
    """The host described by the archive. Raises Refused if it cannot be read."""
    host, found = RecordedHost(), Gathered()
    host.open = LACKS
    host.source.update(kind=KIND, name=path.name)
    outputs: dict[str, str] = {}
    try:
        for member, members in _members(path):
            _take(host, outputs, member, members)
    except (tarfile.TarError, EOFError, OSError, ValueError, OverflowError) as error:
        if not host.files:
            raise Refused(f"its archive cannot be read: {error}") from error
        host.note(f"the archive ends too early or is damaged ({error}): what it has behind that is missing")
    except archive.Refused as problem:
        raise Refused(str(problem)) from None
    _sort(host, found, outputs)
    finish(host, found)
    return host


def _members(path: pathlib.Path) -> Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]:
    with open_stream(path) as stream, tarfile.open(fileobj=archive.Limited(stream, 1 << 30), mode="r|") as members:
        for number, member in enumerate(members):
            if number > MEMBER_LIMIT:
                raise archive.Refused(f"it has more than {MEMBER_LIMIT} members")
            yield member, members


def _take(host: RecordedHost, outputs: dict[str, str], member: tarfile.TarInfo, members: tarfile.TarFile) -> None:
    _top, _slash, inside = member.name.removeprefix("./").partition("/")
    if not (_TAKEN.match(inside) or inside.startswith("sos_commands/")) or _NUMBERED.match(inside):
        return
    place = clean_path(f"/{inside}")
    if place is None or (not member.isreg() and not member.isdir()) or member.size > FILE_LIMIT:
        return
    if member.isdir():
        return
    stream = members.extractfile(member)
    data = stream.read(FILE_LIMIT) if stream else b""
    command = _COMMAND.fullmatch(inside)
    if command is None:
        host.put(place, data, member.mode & 0o777)
    elif command[1].startswith(_WANTED):
        outputs[command[1]] = data.decode("utf-8", "replace")


_WANTED = ("lspci", "dmesg", "sysctl_-a", "journalctl", "lsmod", "numactl", "lscpu", "uname", "hostname", "dmidecode",
           "nvidia-smi_-q", "nvidia-smi", "date")


def _sort(host: RecordedHost, found: Gathered, outputs: dict[str, str]) -> None:
    def first(*starts: str) -> str:
        return next((text for start in starts for name, text in sorted(outputs.items()) if name.startswith(start)), "")

    for name, text in outputs.items():
        if name.startswith("lspci") and "-t" in name:
            found.tree = found.tree or parse_tree(text.splitlines())
        elif name.startswith("lspci"):
            # The archive may join the output of several programs; each line is recognized by its form.
            merge(found.devices, parse_devices(text.splitlines()))
            found.tree = found.tree or parse_tree(text.splitlines())
    found.all_devices = bool(found.devices)
    found.dmesg = first("dmesg_-x", "dmesg", "dmesg_-T").splitlines() or None
    found.journals = {0: first("journalctl_--no-pager_--boot", "journalctl_--no-pager_--catalog_--boot").splitlines()}
    found.uname, found.numactl = first("uname_-a") or None, first("numactl")
    found.dmidecode = first("dmidecode").splitlines()
    found.smi = first("nvidia-smi_-q") or None
    put_lscpu(host, first("lscpu"))
    if put_settings(host, first("sysctl_-a")) >= WHOLE_SETTINGS:
        host.close("/proc/sys")
    hostname = first("hostname").strip()
    if hostname and "\n" not in hostname:
        host.put_line("/proc/sys/kernel/hostname", hostname)
