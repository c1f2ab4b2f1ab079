# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Run `nvidia-smi -q -x` once, if that is safe, and parse its output.

nvidia-smi opens every GPU: it wakes a suspended one, creates missing device nodes, and may hang on a faulty one. It is
run only if none of this can happen, and for TIME_LIMIT at most.
"""
from __future__ import annotations

import re
from xml.etree import ElementTree

from .._host.host import Host
from .._host.reading import ABSENT, Reading
from .._pci.address import kernel_address
from .registration import read_registration
from .smi_document import END, parse_document, why_not_parsed

TIME_LIMIT = 20.0       # seconds; without persistence eight GPUs take more than ten to initialise
RECORDED = "nvidia-smi.xml"

OK = "ok"
NOT_RUN = "not_run"
MISSING = "absent"
TIMEOUT = "timeout"
FAILED = "failed"
STATES = (OK, NOT_RUN, MISSING, TIMEOUT, FAILED)

_NUMBER = re.compile(r"\d{1,15}(?!\d)", re.ASCII)
_WATTS = re.compile(r"\d{1,15}(?:\.\d{1,15})?(?!\d)", re.ASCII)
# X servers and Wayland compositors, by the names of their programs.
_DISPLAY_SERVERS = ("X", "Xorg", "Xwayland", "gnome-shell", "kwin_wayland", "weston", "sway", "Hyprland", "cosmic-comp")
# NVML's answers in place of any value if a GPU no longer responds.
_TROUBLE = ("gpu is lost", "[gpu is lost]", "gpu requires reset", "[gpu requires reset]")
_NOTHING = ("", "n/a", "[n/a]", "unknown error", "[unknown error]", "not supported", "[not supported]",
            "insufficient permissions", "requested functionality has been deprecated", *_TROUBLE)
_YES_NO = {"yes": True, "no": False}
# The first name of each pair is used up to driver 530, the second since.
_CLOCK_REASONS = ("clocks_throttle_reasons", "clocks_event_reasons")
_CLOCK_REASON = re.compile(r"clocks_(?:throttle|event)_reason_(\w+)")
_POWER = ("power_readings", "gpu_power_readings")
_POWER_DRAW = ("instant_power_draw", "power_draw", "average_power_draw")
_POWER_LIMIT = ("current_power_limit", "enforced_power_limit", "power_limit")


def reason_not_to_run(state: str, control_node: bool, missing_nodes: list[str], gone: list[str],
                      asleep: list[str], hung: list[str]) -> str | None:
    """Why nvidia-smi must not be run; None if it may.

    `state` is that of the nvidia module; `gone` and `asleep` are NVIDIA GPUs that read all ones or are suspended,
    `hung` those that stopped answering during a measurement.
    """
    if state != "live":
        return f"the nvidia module is {state}"
    if not control_node:
        return "/dev/nvidiactl is missing and nvidia-smi would create it"
    if gone:
        return f"{', '.join(gone)} reads all ones: nvidia-smi may hang"
    if hung:
        return f"{', '.join(hung)} hung during a measurement: nvidia-smi may hang too"
    if asleep:
        return f"{', '.join(asleep)} is suspended and nvidia-smi would wake it"
    if missing_nodes:
        return f"{', '.join(missing_nodes)} is missing and nvidia-smi would create it"
    return None


def read(host: Host, reason: str | None) -> dict:
    """The `smi` fact: `{state, reason, driver_version, gpus}`; nvidia-smi is not run if there is a `reason` not to.

    Raises only NotRecorded. A GPU has the keys of _gpu(), in MiB, percent and watts; None for what nvidia-smi omits.
    """
    if reason is not None:
        return fact(NOT_RUN, reason)
    printed = ask(host).told()
    if printed.ok:
        parsed = parse(printed.value)
        return parsed if parsed is not None else fact(FAILED, why_not_parsed(printed.value))
    return fact(_state_of(printed), printed.detail)


def ask(host: Host) -> Reading:
    """The output of `nvidia-smi -q -x`.

    Exit status 14 means a corrupted infoROM (man 1 nvidia-smi); the output is complete and covers all GPUs even then.
    """
    return host.run(["nvidia-smi", "-q", "-x"], TIME_LIMIT, recorded=RECORDED, complete=END)


def _state_of(printed: Reading) -> str:
    if printed.status == ABSENT:
        return MISSING
    return TIMEOUT if (printed.detail or "").startswith("timeout") else FAILED


def fact(state: str, reason: str | None, driver_version: str | None = None, gpus: list | None = None) -> dict:
    return {"state": state, "reason": reason, "driver_version": driver_version, "gpus": gpus or []}


def parse(text: str) -> dict | None:
    """Parse the output of `nvidia-smi -q -x`; None for anything else. A missing or renamed field is None."""
    root = parse_document(text)
    if root is None:
        return None
    return fact_of(root)


def fact_of(root: ElementTree.Element) -> dict:
    """The `smi` fact of a report; GPUs without a readable address are left out."""
    gpus = [_gpu(element) for element in root.iter("gpu")]
    return fact(OK, None, _text(root, "driver_version"), [gpu for gpu in gpus if gpu["bdf"] and "." in gpu["bdf"]])


def parse_conditions(text: str) -> list[dict] | None:
    """State of the GPUs in the same output: `[{bdf, temperature_c, sm_mhz, throttle, power_w}]`; None as in parse().

    Degrees Celsius, MHz and watts; `throttle` lists the active reasons for lower clocks.
    """
    root = parse_document(text)
    if root is None:
        return None
    found = []
    for gpu in root.iter("gpu"):
        power = _power(gpu)
        found.append({"bdf": _address(gpu), "temperature_c": _number(gpu, "temperature/gpu_temp"),
                      "sm_mhz": _number(gpu, "clocks/sm_clock"), "throttle": power["clock_reasons"],
                      "power_w": power["power_draw_w"]})
    return [gpu for gpu in found if gpu["bdf"] and "." in gpu["bdf"]]


def _address(gpu: ElementTree.Element) -> str | None:
    return kernel_address(gpu.get("id") or "") or kernel_address(_text(gpu, "pci/pci_bus_id") or "")


def _gpu(gpu: ElementTree.Element) -> dict:
    processes = gpu.find("processes")
    return {
        "bdf": _address(gpu),
        "minor": _number(gpu, "minor_number"),
        "memory_mib": _number(gpu, "fb_memory_usage/total"),
        "bar1_mib": _number(gpu, "bar1_memory_usage/total"),
        "bar1_used_mib": _number(gpu, "bar1_memory_usage/used"),
        "pstate": _text(gpu, "performance_state"),
        "persistence": _text(gpu, "persistence_mode"),
        "display": _text(gpu, "display_active"),
        "display_server": _display_server(gpu),
        "vbios": _text(gpu, "vbios_version"),
        "device_max_gen": _number(gpu, "pci/pci_gpu_link_info/pcie_gen/max_device_link_gen"),
        "utilization": _number(gpu, "utilization/gpu_util"),
        "processes": None if processes is None or (_is_nothing(processes.text) and len(processes) == 0)
        else len(processes.findall("process_info")),
        "trouble": _trouble(gpu),
        **_modes(gpu), **_power(gpu), **_memory_health(gpu), **read_registration(gpu),
    }


def _display_server(gpu: ElementTree.Element) -> str | None:
    """`Xorg`, if such a process draws on the GPU: type G or C+G. It opens all GPUs, also those without a display."""
    for process in gpu.findall("processes/process_info"):
        words = (_text(process, "process_name") or _text(process, "name") or "").split()
        name = words[0].rpartition("/")[2] if words else ""
        if "G" in (_text(process, "type") or "") and name in _DISPLAY_SERVERS:
            return name
    return None


def _trouble(gpu: ElementTree.Element) -> str | None:
    """`GPU is lost`, if NVML answers that in place of a value."""
    return next((text.strip("[]") for element in gpu.iter() if (text := (element.text or "").strip()).lower()
                 in _TROUBLE), None)


def _modes(gpu: ElementTree.Element) -> dict:
    return {
        "compute_mode": _text(gpu, "compute_mode"),
        "mig": _text(gpu, "mig_mode/current_mig"), "mig_pending": _text(gpu, "mig_mode/pending_mig"),
        "ecc": _text(gpu, "ecc_mode/current_ecc"), "ecc_pending": _text(gpu, "ecc_mode/pending_ecc"),
        "recovery_action": _recovery_action(gpu),
    }


def _recovery_action(gpu: ElementTree.Element) -> str | None:
    """`None`, `Reset`, `Reboot`, `Drain P2P` or `Drain and Reset`; before driver 560 from two yes/no fields."""
    message = _text(gpu, "gpu_recovery_action")
    if message is not None:
        return message
    drain, reset = (_yes(gpu, f"gpu_reset_status/{name}") for name in ("drain_and_reset_recommended", "reset_required"))
    if drain is None and reset is None:
        return None
    return "Reset" if reset else "Drain and Reset" if drain else "None"


def _power(gpu: ElementTree.Element) -> dict:
    readings = next((found for name in _POWER if (found := gpu.find(name)) is not None), None)
    reasons = next((found for name in _CLOCK_REASONS if (found := gpu.find(name)) is not None), None)
    return {
        "power_draw_w": _watts(readings, _POWER_DRAW),
        "power_limit_w": _watts(readings, _POWER_LIMIT),
        "power_default_w": _watts(readings, ("default_power_limit",)),
        "clock_reasons": None if reasons is None or not len(reasons) else
        [name[1] for reason in reasons if (reason.text or "").strip() == "Active"
         and (name := _CLOCK_REASON.fullmatch(reason.tag))],
    }


def _watts(readings: ElementTree.Element | None, names: tuple[str, ...]) -> float | None:
    """`600.0` from `600.00 W`, using the first name that has a value."""
    texts = (_text(readings, name) for name in names) if readings is not None else ()
    return next((float(found[0]) for text in texts if (found := _WATTS.match(text or ""))), None)


def _memory_health(gpu: ElementTree.Element) -> dict:
    """Uncorrectable errors since the driver was loaded and over the GPU's life, and repairs pending a GPU reset."""
    retired = _yes(gpu, "retired_pages/pending_retirement")
    return {
        "ecc_errors": _uncorrectable(gpu.find("ecc_errors/volatile")),
        "ecc_errors_ever": _uncorrectable(gpu.find("ecc_errors/aggregate")),
        "pages_pending": _yes(gpu, "retired_pages/pending_blacklist") if retired is None else retired,
        "rows_pending": _yes(gpu, "remapped_rows/remapped_row_pending"),
        "rows_failed": _yes(gpu, "remapped_rows/remapped_row_failure"),
        "repairs_pending": [name for name in ("channel", "tpc") if _yes(gpu, f"ecc_errors/{name}_repair_pending")],
    }


def _uncorrectable(errors: ElementTree.Element | None) -> int | None:
    """The sum of SRAM and DRAM errors since Turing, SRAM in two kinds since driver 545; before, `double_bit/total`."""
    if errors is None:
        return None
    names = [element.tag for element in errors if "_uncorrectable" in element.tag] or ["double_bit/total"]
    counts = [count for name in names if (count := _number(errors, name)) is not None]
    return sum(counts) if counts else None


def _yes(gpu: ElementTree.Element, path: str) -> bool | None:
    return _YES_NO.get((_text(gpu, path) or "").lower())


def _is_nothing(text: str | None) -> bool:
    return text is not None and text.strip() != "" and text.strip().lower() in _NOTHING


def _text(element: ElementTree.Element, path: str) -> str | None:
    text = (element.findtext(path) or "").strip()
    return None if text.lower() in _NOTHING else text


def _number(element: ElementTree.Element, path: str) -> int | None:
    """`97887` from `97887 MiB`."""
    found = _NUMBER.match(_text(element, path) or "")
    return int(found[0]) if found else None
