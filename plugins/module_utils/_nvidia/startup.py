# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Whether the driver could start a GPU that is bound to it, by nvidia-smi's answer and by the kernel log."""
from __future__ import annotations

import re
from functools import cached_property

from .._change.hung_gpus import list_hung
from .._host.host import Host
from .._host.reading import ASLEEP, GONE
from .._kernel.log import read_lines
from .._kernel.modules import read_module
from .._pci.device import read_config
from .._pci.gpus import NVIDIA, find_gpus
from .._pci.sysfs import read_id
from . import driver, smi

# What nvidia-smi prints, with status 6, where the driver could initialise no GPU.
_NO_DEVICES = "No devices were found"


def why_unusable(bdf: str, answer: dict, failure: dict | None, in_use: bool) -> str | None:
    """What is wrong with a GPU that nobody can use, as the end of a sentence ("0000:01:00.0 is ..."); else None.

    `answer` is what smi.read() gave, `failure` the last one of this GPU in the kernel log, see init_log.py; `in_use`: a
    process has it open. What nvidia-smi answers now counts more than a line of the log, for the GPU may have started at
    a later try; without its answer a process that uses the GPU does.
    """
    denied = _denied(bdf, answer)
    if denied is None and (failure is None or answer["state"] == smi.OK or in_use):
        return None
    quoted = [f"the kernel log says: {' / '.join([*failure['causes'], failure['text']])}"] if failure else []
    return "; ".join([denied or _no_answer(answer), *quoted])


def _denied(bdf: str, answer: dict) -> str | None:
    """What nvidia-smi says against a GPU: it does not list it, finds none at all, or names this one in its error."""
    if answer["state"] == smi.OK:
        listed = any(gpu["bdf"] == bdf for gpu in answer["gpus"])
        return None if listed else "bound to the driver but missing in nvidia-smi"
    reason = answer["reason"] or ""
    named = re.search(rf"(?<![0-9a-f]){re.escape(bdf.partition(':')[2])}", reason, re.IGNORECASE)
    if answer["state"] == smi.FAILED and (_NO_DEVICES in reason or named):
        return f"bound to the driver but not usable: {reason}"
    return None


def _no_answer(answer: dict) -> str:
    reason = answer["reason"]
    words = {smi.MISSING: "no output of nvidia-smi (not installed, or not recorded)",
             smi.NOT_RUN: f"nvidia-smi was not run: {reason}"}
    return f"bound to the driver but not usable: {words.get(answer['state'], reason)}"


class Startup:
    """The GPUs of a host that did not start.

    The log is read once. nvidia-smi is run once, and only where a GPU is in doubt: one that the log names, or one that
    has no UUID, which a GPU gets when it is first initialised.
    """

    def __init__(self, host: Host) -> None:
        self.host = host

    def why_unusable(self, bdf: str, in_use: bool) -> str | None:
        """As above, of a GPU that is bound to the driver."""
        failure = self._failures.get(bdf)
        if failure is None and bdf in self._initialised:
            return None
        return why_unusable(bdf, self._answer, failure, in_use)

    @cached_property
    def _initialised(self) -> set[str]:
        """Those that started at some time, and those that were excluded on purpose."""
        return {gpu["bdf"] for gpu in driver.read_gpus(self.host).value or [] if gpu["uuid"] or gpu["excluded"]}

    @cached_property
    def _failures(self) -> dict[str | None, dict]:
        failures = driver.read_init_failures(read_lines(self.host), driver.read_gpus(self.host))
        return {failure["bdf"]: failure for failure in failures.value or []}

    @cached_property
    def _answer(self) -> dict:
        own = [bdf for bdf, _class in find_gpus(self.host) if read_id(self.host, bdf, "vendor") == NVIDIA]
        states = {bdf: read_config(self.host, bdf).status for bdf in own}
        reason = driver.reason_not_to_ask(
            read_module(self.host, driver.CORE_MODULE)["state"], driver.read_nodes(self.host),
            driver.read_gpus(self.host), [bdf for bdf in own if states[bdf] == GONE],
            [bdf for bdf in own if states[bdf] == ASLEEP], list_hung(self.host))
        return smi.read(self.host, reason)
