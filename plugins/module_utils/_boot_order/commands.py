# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Commands that set a tunable under a name other than its path: sysctl, cpupower, setpci, powertop, modprobe.

Sources: man 8 sysctl, setpci, modprobe, powertop; man 1 cpupower-frequency-set, cpupower-set, cpufreq-set.
"""
from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator

from .setting import EVERY, MAXREADREQ, MODULE, SYSCTL, SYSFS
from .sysctl_files import with_slashes

Found = Iterator[tuple[str, str, "str | None"]]      # kind, name or pattern, value

_CPUFREQ = "/sys/devices/system/cpu/cpufreq"
_COMMAND = re.compile(r"(?:^|[\s;&|(`\"'=@+!-])(?:/\S*/)?"
                      r"(sysctl|cpupower|cpufreq-set|setpci|powertop|modprobe|rmmod)\s+([^;&|)`\n]*)")
_DEVICE_CONTROL = re.compile(r"(?:CAP_EXP\+(?:0x)?0*8)\.[wW]=(?:0x)?([0-9a-fA-F]{1,4})(?::(?:0x)?([0-9a-fA-F]{1,4}))?")
_READRQ = 0x7000        # PCI_EXP_DEVCTL_READRQ in include/uapi/linux/pci_regs.h
_ADDRESS = re.compile(r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")


def find_commands(line: str) -> Found:
    for program, rest in _COMMAND.findall(line):
        try:
            words = shlex.split(rest, comments=True)
        except ValueError:      # a quote not closed before the end of the command
            words = rest.replace('"', " ").replace("'", " ").split()
        yield from _READERS[program](words)


def _sysctl(words: list[str]) -> Found:
    """Parse `sysctl -w key=value ...`; without an equals sign it only prints; callers read the files of `-p`."""
    for word in words:
        key, equals, value = word.partition("=")
        if equals and not key.startswith("-"):
            yield SYSCTL, re.sub(r"\$\{?\w+\}?", "*", with_slashes(key)), _literal(value)


def _cpupower(words: list[str]) -> Found:
    if "frequency-set" in words:
        yield from _cpufreq_set(words)
    elif "set" in words:
        for option, path in ((("-t", "--turbo-boost"), f"{_CPUFREQ}/boost"),
                             (("-e", "--epp"), f"{_CPUFREQ}/policy*/energy_performance_preference")):
            yield from ((SYSFS, path, value) for value in _values(words, option))
    elif "idle-set" in words:
        yield SYSFS, "/sys/devices/system/cpu/cpu*/cpuidle/state*/disable", None


def _cpufreq_set(words: list[str]) -> Found:
    for option, name in ((("-g", "--governor"), "scaling_governor"), (("-d", "--min"), "scaling_min_freq"),
                         (("-u", "--max"), "scaling_max_freq")):
        for value in _values(words, option):
            plain = value if name == "scaling_governor" or (value or "").isdigit() else None
            yield SYSFS, f"{_CPUFREQ}/policy*/{name}", plain


def _values(words: list[str], option: tuple[str, str]) -> list[str | None]:
    short, long = option
    after = [following for word, following in zip(words, words[1:]) if word in option]
    joined = [word.partition("=")[2] for word in words if word.startswith(f"{long}=")]
    glued = [word[2:] for word in words if word.startswith(short) and len(word) > 2 and not word.startswith("--")]
    return list(map(_literal, after + joined + glued))


def _setpci(words: list[str]) -> Found:
    """Find writes to Device Control; one whose mask includes MaxReadReq, or without a mask, sets it too."""
    for word in words:
        found = _DEVICE_CONTROL.fullmatch(word)
        if found is None or not int(found[2] or "ffff", 16) & _READRQ:
            continue
        size = str(128 << ((int(found[1], 16) & _READRQ) >> 12))
        selected = [address for address in words if _ADDRESS.fullmatch(address)] or [EVERY]
        for address in selected:
            yield MAXREADREQ, address if address == EVERY or address.count(":") > 1 else f"0000:{address}", size


def _powertop(words: list[str]) -> Found:
    """src/tuning/tuning.cpp."""
    if "--auto-tune" in words:
        yield SYSCTL, "kernel/nmi_watchdog", "0"
        yield SYSCTL, "vm/dirty_writeback_centisecs", "1500"


def _modprobe(words: list[str]) -> Found:
    names = [word for word in words if not word.startswith("-")]
    if any(word in ("-r", "--remove") for word in words):
        yield from ((MODULE, name.replace("-", "_"), "absent") for name in names)
    elif names:
        yield MODULE, names[0].replace("-", "_"), "present"


def _rmmod(words: list[str]) -> Found:
    yield from ((MODULE, word.replace("-", "_"), "absent") for word in words if not word.startswith("-"))


def _literal(value: str) -> str | None:
    return None if "$" in value or "`" in value else value


_READERS: dict[str, Callable[[list[str]], Found]] = {
    "sysctl": _sysctl, "cpupower": _cpupower, "cpufreq-set": _cpufreq_set, "setpci": _setpci, "powertop": _powertop,
    "modprobe": _modprobe, "rmmod": _rmmod}
