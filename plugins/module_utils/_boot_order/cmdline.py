# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Values set on the kernel command line, before any file is read; ours are applied later.

Sources: Linux, Documentation/admin-guide/kernel-parameters.txt; fs/proc/proc_sysctl.c, do_sysctl_args(), which runs
just before init. systemd-sysctl does not read the command line.
"""
from __future__ import annotations

from collections.abc import Iterator

from .._host.host import Host
from .setting import MODULE, SYSCTL, SYSFS, Setting
from .sysctl_files import with_slashes

PATH = "/proc/cmdline"
_EARLIER = "the kernel takes it before systemd starts"
_PARAMETERS = {
    "transparent_hugepage": (SYSFS, "/sys/kernel/mm/transparent_hugepage/enabled", {}),
    "cpufreq.default_governor": (SYSFS, "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor", {}),
    "pcie_aspm.policy": (SYSFS, "/sys/module/pcie_aspm/parameters/policy", {}),
    "numa_balancing": (SYSCTL, "kernel/numa_balancing", {"enable": "1", "disable": "0"}),
    "nmi_watchdog": (SYSCTL, "kernel/nmi_watchdog", {}),
}


def settings(host: Host) -> Iterator[Setting]:
    for word in (host.read(PATH).value or "").split():
        key, equals, value = word.partition("=")
        value = value.strip('"')
        if key.startswith("sysctl.") and equals:
            yield Setting(SYSCTL, with_slashes(key[7:]), value, PATH, 1, key, False, _EARLIER)
        elif key in _PARAMETERS and equals:
            kind, name, words = _PARAMETERS[key]
            yield Setting(kind, name, words.get(value, value), PATH, 1, key, False, _EARLIER)
        elif key == "module_blacklist":
            for name in value.split(","):
                yield Setting(MODULE, name.replace("-", "_"), "absent", PATH, 1, key, True,
                              "the kernel refuses to load a module that is named there")
