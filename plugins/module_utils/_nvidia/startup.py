# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Whether the driver could initialise a GPU bound to it, according to nvidia-smi and the kernel log."""
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

# nvidia-smi's message, with exit status 6, if the driver could not initialise any GPU.
_NO_DEVICES = "No devices were found"


def why_unusable(bdf: str, answer: dict, failure: dict | None, in_use: bool) -> str | None:
    """Why a GPU is unusable, as the end of a sentence ("0000:01:00.0 is ..."); None if it is usable.

    `answer` is from smi.read(), `failure` is the GPU's last one in the kernel log, see init_log.py; `in_use`: a process
    has it open. nvidia-smi's current answer outweighs the log, since a later attempt may have succeeded; without that
    answer, a process that uses the GPU does.
    """
    denied = _denied(bdf, answer)
    if denied is None and (failure is None or answer["state"] == smi.OK or in_use):
        return None
    quoted = [f"the kernel log says: {' / '.join([*failure['causes'], failure['text']])}"] if failure else []
    return "; ".join([denied or _no_answer(answer), *quoted])


def _denied(bdf: str, answer: dict) -> str | None:
    """Evidence from nvidia-smi against a GPU: it is not listed, none is found, or the error message names it."""
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
    """Finds the GPUs of a host that the driver could not initialise.

    The log is read once. nvidia-smi is run once, and only if a GPU is in doubt: one with a failure in the log, or one
    without a UUID, which a GPU gets when it is first initialised.
    """

    def __init__(self, host: Host) -> None:
        self.host = host

    def why_unusable(self, bdf: str, in_use: bool) -> str | None:
        """why_unusable() for a GPU bound to the driver."""
        failure = self._failures.get(bdf)
        if failure is None and bdf in self._initialised:
            return None
        return why_unusable(bdf, self._answer, failure, in_use)

    @cached_property
    def _initialised(self) -> set[str]:
        """GPUs that were initialised at some time, and those that are deliberately excluded."""
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
