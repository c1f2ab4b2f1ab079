# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The kind `module`: helper modules of the NVIDIA driver, `present` or `absent`.

They are loaded with modprobe and unloaded with rmmod, which removes only the module itself, not its dependencies.
"""
from __future__ import annotations

from typing import Any, Callable

from .._change.hung_gpus import read_marks, reason_to_leave
from .._change.tunable import CERTAIN, KERNEL_DECIDES, SKIPPED, Kind, Refused, Tunable
from .._host.host import Host
from .._host.reading import ABSENT as NOT_THERE
from .._host.reading import Reading, as_facts
from .._kernel.boot_loader import read_secure_boot
from .._kernel.device_users import read_users
from .._kernel.log import read_lines
from .._kernel.modules import BUILT_IN, LIVE, MODULE_ABSENT, canonical_name, read_module, read_modules
from .._nvidia.driver import CORE_MODULE, PEER_SYMBOL, read_peer_symbol
from .._nvidia.libraries import read_mismatch
from .._pci import rdma
from .._tunables import kmod
from .._tunables.kinds import KINDS
from .._tunables.kmod import ABSENT, PRESENT
from .._tunables.wanted import Wanted
from .kmod_failure import HINTS, IN_USE, NOT_APPLICABLE, SIGNATURE_REJECTED, SYMBOL_MISSING, Failure, classify
from .kmod_rules import forbidden

PEERMEM = "nvidia_peermem"
TIMEOUT = 60.0          # seconds; a driver may have to wait for firmware

Runner = Callable[[list, float], Reading]       # Host.run


class KernelModule(Tunable):
    """One module, identified by its canonical name."""

    def __init__(self, host: Host, name: str, runner: Runner | None) -> None:
        self.host = host
        self.name = name
        self.address = f"module:{name}"
        self.failure: Failure | None = None     # of the write that failed
        self.signing: dict = {}                 # further details of a rejected signature
        self._run = runner

    def read(self) -> Reading:
        return kmod.read(self.host, self.name)

    def predict(self, now: str, target: str, peers: dict[str, Any]) -> str:
        why = forbidden(self.host, self.name, target == PRESENT)
        if why is not None:
            raise Refused(why)
        if self.name == PEERMEM and target == PRESENT:
            self._require_rdma()
        core = read_module(self.host, CORE_MODULE)["state"]
        if core != LIVE:
            raise Refused(f"module {CORE_MODULE} is {core}: its helper modules are loaded and unloaded only while it "
                          "is live")
        hung = reason_to_leave(read_marks(self.host))
        if hung is not None:
            raise Refused(hung)
        if target == ABSENT:
            self._require_unused()
        elif self.name == PEERMEM:
            self._require_peer_symbol()
        mismatch = read_mismatch(self.host)
        if mismatch is not None:
            raise Refused(f"driver/library version mismatch: {mismatch}", but_back=True)
        if self._run is None:
            raise Refused("needs a live host", outcome=SKIPPED)
        if target == ABSENT:
            self.note = f"only {self.name} itself is unloaded"
            return CERTAIN
        along = self._would_load()
        self.note = f"loads {', '.join([*along, self.name])}"
        self.inexact = [f"module:{name}" for name in along]
        return KERNEL_DECIDES

    def write(self, value: str) -> None:
        before = read_lines(self.host)
        argv = ["modprobe", self.name] if value == PRESENT else ["rmmod", self.name]
        result = self._run(argv, TIMEOUT)
        if result.status == NOT_THERE:
            raise Refused(result.detail)
        if not result.ok:
            raise self._failed(result.detail, before)
        if value == ABSENT and self.read().value != ABSENT:
            self._require_unused()

    def _failed(self, message: str, before: Reading) -> Refused:
        self.failure = classify(self.name, message, _newer(before, read_lines(self.host)))
        if self.failure.kind == SIGNATURE_REJECTED:
            self.signing = {"secure_boot": read_secure_boot(self.host).value, "signer": self._signer()}
        return Refused(self.failure.reason(), error=self.failure.message)

    def _signer(self) -> str | None:
        return (self._run(["modinfo", "-F", "signer", self.name], TIMEOUT).value or "").strip() or None

    def _require_unused(self) -> None:
        facts = read_module(self.host, self.name)
        if facts["state"] == BUILT_IN:
            raise Refused("it is built into the kernel")
        if facts["holders"] or facts["refcount"].value:
            message = f"used by the modules {', '.join(facts['holders'])}" if facts["holders"] else \
                f"{facts['refcount'].value} references, none by a module"
            users = sorted({f"{user['command']} (pid {user['pid']})" for user in read_users(self.host).value or []})
            self.failure = Failure(IN_USE, message, [], f"processes using a GPU: {', '.join(users)}" if users else None)
            raise Refused(self.failure.reason())

    def _require_rdma(self) -> None:
        """Refuse without an RDMA device: nothing would use nvidia_peermem."""
        if not rdma.read(self.host)["devices"]:
            self.failure = Failure(NOT_APPLICABLE, "no RDMA device in /sys/class/infiniband", [], None)
            raise Refused(self.failure.reason(), outcome=SKIPPED)

    def _require_peer_symbol(self) -> None:
        symbol = read_peer_symbol(self.host, rdma=True)
        if symbol.ok and not symbol.value:
            self.failure = Failure(SYMBOL_MISSING, f"no {PEER_SYMBOL} in /proc/kallsyms", [], HINTS[SYMBOL_MISSING])
            raise Refused(self.failure.reason())

    def _would_load(self) -> list[str]:
        """The other modules that modprobe says it would load; raises Refused if it would run a command instead."""
        result = self._run(["modprobe", "--show-depends", self.name], TIMEOUT)
        if result.status == NOT_THERE:
            raise Refused(result.detail)
        if not result.ok:
            self.failure = classify(self.name, result.detail, [])
            raise Refused(self.failure.reason())
        names, commands = parse_depends(result.value)
        if commands:
            raise Refused(f"modprobe's configuration runs a command for it: {commands[0]}")
        return [name for name in names if name != self.name and read_module(self.host, name)["state"] == MODULE_ABSENT]


def parse_depends(text: str) -> tuple[list[str], list[str]]:
    """Parse `modprobe --show-depends`: module names in load order, and commands that it would run (`install` lines)."""
    names, commands = [], []
    for line in text.splitlines():
        verb, _blank, rest = line.strip().partition(" ")
        if verb == "insmod":
            file = rest.split()[0].rpartition("/")[2]
            names.append(canonical_name(file.partition(".ko")[0]))
        elif verb == "install":
            commands.append(rest.strip())
    return names, commands


def _newer(before: Reading, after: Reading) -> list[str]:
    """The kernel log lines added between the two readings."""
    old = before.value or []
    last = max((line["seconds"] for line in old if line["seconds"] is not None), default=None)
    if last is None:
        return [line["text"] for line in (after.value or [])[len(old):]]
    return [line["text"] for line in after.value or [] if (line["seconds"] or 0) > last]


class ModuleKind(Kind):
    name = "module"

    def __init__(self, host: Host, runner: Runner | None = None) -> None:
        self.host = host
        self.runner = runner or (host.run if host.live else None)

    def parse(self, name: str, spec: Any) -> Wanted:
        return KINDS[self.name].parse(name, spec)

    def find(self, name: str) -> list[Tunable]:
        kmod.check_name(name)
        return [KernelModule(self.host, canonical_name(name), self.runner)]

    def details(self, tunables: list[Tunable]) -> dict:
        return {
            "modules": as_facts(read_modules(self.host, [one.name for one in tunables])),
            "failures": [{"address": one.address, "class": one.failure.kind, "said": one.failure.message,
                          "log": one.failure.log, "hint": one.failure.hint, "secure_boot": None, "signer": None,
                          **one.signing} for one in tunables if one.failure is not None],
        }
