# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Conditions that end a measurement at once: a new Xid in the kernel log, or a GPU at its throttle temperature."""
from __future__ import annotations

import re
import time
from collections.abc import Callable
from xml.etree import ElementTree

from .._host.host import Host
from .._host.reading import Reading
from .._kernel.log import read_lines
from .._nvidia.log import parse_xids
from .._nvidia.smi import RECORDED, TIME_LIMIT
from .._pci.address import kernel_address

HEAT_INTERVAL = 5.0     # seconds; nvidia-smi takes one to three seconds on a host with eight GPUs

_DEGREES = re.compile(r"(-?\d{1,3}) C")
# Reported by NVIDIA's firmware when heat lowers the clocks (clocks_throttle_reason_* up to driver 530).
_HOT = re.compile(r"clocks_(?:throttle|event)_reason_((?:hw|sw)_thermal_slowdown)")


class Watch:
    """Checks the host between steps, with `heat` also by nvidia-smi. `clock` returns seconds."""

    def __init__(self, host: Host, heat: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._host = host
        self._heat_too = heat
        self._clock = clock
        self._next_heat = clock()
        log = self._read_xids()
        # Without the kernel log, GPU errors caused by a step would go unnoticed.
        self.blind = None if log.ok else f"the kernel log cannot be read ({log.detail or log.status})"
        self._known = {_key(xid) for xid in log.value or []}

    def _read_xids(self) -> Reading:
        return read_lines(self._host).map(parse_xids)

    def trouble(self) -> str | None:
        """Why the measurement must stop; None if it may continue."""
        return self._new_xid() or (self._heat() if self._heat_too else None)

    def _new_xid(self) -> str | None:
        log = self._read_xids()
        if not log.ok:
            return f"the kernel log can no longer be read ({log.detail or log.status})"
        new = [xid for xid in log.value if _key(xid) not in self._known]
        return f"the driver reported Xid {new[0]['xid']} on {new[0]['bdf']}: {new[0]['text']}" if new else None

    def _heat(self) -> str | None:
        if self._clock() < self._next_heat:
            return None
        self._next_heat = self._clock() + HEAT_INTERVAL
        printed = self._host.run(["nvidia-smi", "-q", "-x"], TIME_LIMIT, recorded=RECORDED)
        if (printed.detail or "").startswith("timeout"):
            return f"nvidia-smi failed: {printed.detail}"
        return next((message for message in parse_heat(printed.value or "") if message), None)


def _key(xid: dict) -> tuple:
    return xid["bdf"], xid["xid"], xid["seconds"], xid["text"]


def parse_heat(text: str) -> list[str]:
    """A sentence for each GPU that is too hot in the output of `nvidia-smi -q -x`; empty for other text."""
    if "<!ENTITY" in text:      # nvidia-smi defines none; an entity bomb does
        return []
    try:
        root = ElementTree.fromstring(text.strip())
    except ElementTree.ParseError:
        return []
    return [f"{kernel_address(gpu.get('id') or '') or 'a GPU'} {message}" for gpu in root.iter("gpu")
            if (message := _too_hot(gpu))]


def _too_hot(gpu: ElementTree.Element) -> str | None:
    now, limit = (_degrees(gpu, name) for name in ("gpu_temp", "gpu_temp_slow_threshold"))
    if now is not None and limit is not None and now >= limit:
        return f"is at {now} degrees Celsius, and throttles at {limit}"
    # Since the Hopper generation: degrees left until the first limit, negative above it.
    left, threshold = (_degrees(gpu, name) for name in ("gpu_temp_tlimit", "gpu_temp_slow_tlimit_threshold"))
    if left is not None and threshold is not None and left <= threshold:
        return f"is {-left} degrees Celsius above its limit, and throttles at {-threshold}"
    for element in gpu.iter():
        reason = _HOT.fullmatch(element.tag)
        if reason is not None and (element.text or "").strip() == "Active":
            return f"lowers its clocks because of its temperature ({reason[1]})"
    return None


def _degrees(gpu: ElementTree.Element, name: str) -> int | None:
    found = _DEGREES.match((gpu.findtext(f"temperature/{name}") or "").strip())
    return int(found[1]) if found else None
