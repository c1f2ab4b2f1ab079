# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""One run of `nvidia-smi -q -x`, where that is safe, and what it printed.

nvidia-smi opens every GPU: it wakes a sleeping one, makes missing device nodes, and may hang on a sick one. So it is
run only where none of this can happen, and never for longer than TIME_LIMIT.
"""
from __future__ import annotations

import re
from xml.etree import ElementTree

from ._host import Host
from ._pci_address import kernel_address
from ._reading import ABSENT, Reading

TIME_LIMIT = 20.0       # seconds; without persistence eight GPUs take more than ten to initialise
RECORDED = "nvidia-smi.xml"

OK = "ok"
NOT_RUN = "not_run"
MISSING = "absent"
TIMEOUT = "timeout"
FAILED = "failed"
STATES = (OK, NOT_RUN, MISSING, TIMEOUT, FAILED)

_NUMBER = re.compile(r"\d+")
_NOTHING = ("", "n/a", "[n/a]", "unknown error", "[unknown error]", "not supported", "[not supported]",
            "insufficient permissions", "requested functionality has been deprecated")


def reason_not_to_run(state: str, control_node: bool, missing_nodes: list[str], gone: list[str],
                      asleep: list[str]) -> str | None:
    """Why nvidia-smi must not be run, None where it may.

    `state` is that of the nvidia module, `gone` and `asleep` are NVIDIA GPUs that read all ones or are suspended.
    """
    if state != "live":
        return f"the nvidia module is {state}"
    if not control_node:
        return "/dev/nvidiactl is missing and nvidia-smi would make it"
    if gone:
        return f"{', '.join(gone)} reads all ones: nvidia-smi may hang"
    if asleep:
        return f"{', '.join(asleep)} is suspended and nvidia-smi would wake it"
    if missing_nodes:
        return f"{', '.join(missing_nodes)} is missing and nvidia-smi would make it"
    return None


def read(host: Host, reason: str | None) -> dict:
    """The `smi` fact: `{state, reason, driver_version, gpus}`; not run where there is a `reason` not to. Never raises.

    GPU: `{bdf, minor, memory_mib, bar1_mib, pstate, persistence, utilization, processes}`, MiB and percent, None for
    what nvidia-smi leaves open.
    """
    if reason is not None:
        return _fact(NOT_RUN, reason)
    printed = host.run(["nvidia-smi", "-q", "-x"], TIME_LIMIT, recorded=RECORDED)
    if printed.ok:
        parsed = parse(printed.value)
        return parsed if parsed is not None else _fact(FAILED, f"no XML: {_first_lines(printed.value)}")
    return _fact(_state_of(printed), printed.detail)


def _state_of(printed: Reading) -> str:
    if printed.status == ABSENT:
        return MISSING
    return TIMEOUT if (printed.detail or "").startswith("timeout") else FAILED


def _first_lines(text: str) -> str:
    return "; ".join(line.strip() for line in text.splitlines()[:2])[:200] or "no output"


def _fact(state: str, reason: str | None, driver_version: str | None = None, gpus: list | None = None) -> dict:
    return {"state": state, "reason": reason, "driver_version": driver_version, "gpus": gpus or []}


def parse(text: str) -> dict | None:
    """What `nvidia-smi -q -x` printed, None for anything else. A field that is missing or renamed is None."""
    if "<!ENTITY" in text:      # nvidia-smi defines none; a bomb would
        return None
    try:
        root = ElementTree.fromstring(text.strip())
    except ElementTree.ParseError:
        return None
    if root.tag != "nvidia_smi_log":
        return None
    gpus = [_gpu(element) for element in root.iter("gpu")]
    return _fact(OK, None, _text(root, "driver_version"), [gpu for gpu in gpus if gpu["bdf"] and "." in gpu["bdf"]])


def _gpu(gpu: ElementTree.Element) -> dict:
    processes = gpu.find("processes")
    return {
        "bdf": kernel_address(gpu.get("id") or "") or kernel_address(_text(gpu, "pci/pci_bus_id") or ""),
        "minor": _number(gpu, "minor_number"),
        "memory_mib": _number(gpu, "fb_memory_usage/total"),
        "bar1_mib": _number(gpu, "bar1_memory_usage/total"),
        "pstate": _text(gpu, "performance_state"),
        "persistence": _text(gpu, "persistence_mode"),
        "utilization": _number(gpu, "utilization/gpu_util"),
        "processes": None if processes is None or (_is_nothing(processes.text) and len(processes) == 0)
        else len(processes.findall("process_info")),
    }


def _is_nothing(text: str | None) -> bool:
    return text is not None and text.strip() != "" and text.strip().lower() in _NOTHING


def _text(element: ElementTree.Element, path: str) -> str | None:
    text = (element.findtext(path) or "").strip()
    return None if text.lower() in _NOTHING else text


def _number(element: ElementTree.Element, path: str) -> int | None:
    """`97887` of `97887 MiB`."""
    found = _NUMBER.match(_text(element, path) or "")
    return int(found[0]) if found else None
