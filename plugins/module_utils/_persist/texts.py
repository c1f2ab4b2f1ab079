# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Contents of the files: a constant header, then sysctls, the unit, the udev rule, or the boot plan."""
from __future__ import annotations

from functools import lru_cache
from typing import Any

from .._boot import command
from .._boot.plan import make_plan
from .._host.host import Host
from .._one_file.archive import make_program
from .._one_file.sources import read_own
from .._one_file.version import COLLECTION
from . import paths

HEADER = (
    f"Written by the Ansible collection {COLLECTION}, playbook persist.yml, which also removes it:",
    f"    ansible-playbook {COLLECTION}.persist -e gpuhost_persist_state=absent",
    "A file that you edit is kept as it is, and named. To remove all of it by hand, as root:",
    f"    rm -f {paths.ENABLED} {paths.UNIT}",
    f"    rm -f {paths.RULE} {paths.SYSCTLS}",
    f"    rm -rf {' '.join(paths.OWN_FOLDERS)}",
    "What was set stays set until the next boot.",
)
_COMMENT = "".join(f"# {line}\n" for line in HEADER)

# After= ignores units that do not exist (systemd.unit(5)).
_AFTER = ("systemd-modules-load.service", "nvidia-persistenced.service")
_BEFORE = ("pve-guests.service", "docker.service", "containerd.service", "libvirt-guests.service")
# Until the cluster's file system is mounted, it is unknown which VMs claim a GPU, and writes are refused.
_CLUSTER = "pve-cluster.service"
_CLUSTER_UNITS = tuple(f"{folder}/{_CLUSTER}" for folder in (
    "/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"))

_UNIT = """\
[Unit]
Description=Tuning of the GPU host that lasts (%(collection)s)
After=%(after)s
Before=%(before)s
ConditionPathExists=%(program)s
# A host with many GPUs binds their drivers one by one, and each asks for a run.
StartLimitIntervalSec=0

[Service]
Type=oneshot
ExecStart=%(python)s -I -B %(program)s
TimeoutStartSec=180

[Install]
WantedBy=multi-user.target
"""

# SYSTEMD_WANTS takes effect when a device becomes a systemd device (man 5 systemd.device): as only devices with a
# driver are tagged, that is when the driver is bound, or found bound by the kernel's events at boot.
_RULE = """\
ACTION!="remove", SUBSYSTEM=="pci", ATTR{class}=="0x03*|0x1200*", DRIVER=="?*", TAG+="systemd", \\
  ENV{SYSTEMD_WANTS}+="%s"
"""


def make_sysctls(values: dict[str, str]) -> bytes:
    """Make a sysctl.d(5) file, one line per key, in the given order."""
    return (_COMMENT + "\n" + "".join(f"{key} = {value}\n" for key, value in values.items())).encode()


def make_boot_files(host: Host, values: dict[str, dict[str, Any]], python: str) -> dict[str, bytes]:
    """Make the files that set `values` at boot, run by the interpreter `python`."""
    clustered = any(host.exists(path) for path in _CLUSTER_UNITS)
    unit = _UNIT % {"collection": COLLECTION, "program": paths.PROGRAM, "python": _quote(python),
                    "after": " ".join([*_AFTER, *([_CLUSTER] if clustered else [])]), "before": " ".join(_BEFORE)}
    files = {
        paths.PROGRAM: _program(),
        paths.PLAN: make_plan(values, list(HEADER)),
        paths.UNIT: (_COMMENT + "\n" + unit).encode(),
    }
    if "pcie_maxreadreq" in values or "module" in values:
        files[paths.RULE] = (_COMMENT + "\n" + _RULE % paths.UNIT_NAME).encode()
    return files


@lru_cache(maxsize=1)
def _program() -> bytes:
    """Make the program, the same for all values. The imports here make Ansible send its sources with the module."""
    room, file = command.__name__.split(".")[-2:]
    return make_program(command.NAME, (room, file), read_own, comment=_COMMENT)


def _quote(python: str) -> str:
    """Quote a path for ExecStart= (man 5 systemd.service, "Command lines")."""
    text = python.replace("%", "%%").replace("$", "$$")
    return f'"{text}"' if " " in text else text
