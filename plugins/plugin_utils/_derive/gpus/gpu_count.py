# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The number of NVIDIA GPUs by PCI bus, driver and nvidia-smi, and which of them are unusable."""
from __future__ import annotations

import re
from typing import Any

from ....module_utils._nvidia.startup import why_unusable
from ....module_utils._pci.holders import is_held_for_others
from ..not_recorded import Gap, recorded
from ..reading import known, lost, value

_NVIDIA, _DRIVER = "10de", "nvidia"
# The parts of a log line that vary between GPUs with the same failure: address, instance and minor number.
_OF_ONE_GPU = re.compile(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]|GPU\d+|minor number \d+")


def unusable_gpus(gpus: list[dict[str, Any]], nvidia: dict[str, Any]) -> dict[str, str]:
    """What is wrong with each GPU that is bound to the nvidia driver but unusable, by address.

    The text is the end of a sentence, "0000:01:00.0 is ...". A GPU that the driver is configured to exclude is out of
    use on purpose.
    """
    failures = {failure["bdf"]: failure for failure in value(nvidia["init_failures"]) or []}
    listed = recorded(lambda: value(nvidia["proc_gpus"]))
    excluded = {gpu["bdf"] for gpu in (not isinstance(listed, Gap) and listed) or [] if gpu["excluded"]}
    why = {gpu["bdf"]: _why_unusable(gpu, nvidia, failures.get(gpu["bdf"]))
           for gpu in gpus if _is_bound(gpu) and gpu["bdf"] not in excluded}
    return {bdf: words for bdf, words in why.items() if words}


def _why_unusable(gpu: dict[str, Any], nvidia: dict[str, Any], failure: dict | None) -> str | None:
    """Why a GPU is unusable. If a recording has neither nvidia-smi's output nor the GPU's users, the kernel log alone
    decides."""
    smi = recorded(lambda: nvidia["smi"])
    if isinstance(smi, Gap):
        return None if failure is None else (
            f"with the driver and failed to start in this boot (nvidia-smi is not recorded: {smi.why}); "
            f"the kernel log says: {' / '.join([*failure['causes'], failure['text']])}")
    used = recorded(lambda: bool(value(gpu["users"])))
    return why_unusable(gpu["bdf"], smi, failure, False if isinstance(used, Gap) else used)


def gpu_count(gpus: list[dict[str, Any]], nvidia: dict[str, Any], unusable: dict[str, str]) -> dict[str, Any]:
    """`derived.gpu_count`: schemas/facts/derived.json explains the keys.

    `missing` is a reading: if one of the counts is not known it is lost, with the reason as its status, unless a GPU is
    known to be missing anyway. On a host without nvidia-smi only bus and driver are counted.
    """
    own = [gpu for gpu in gpus if gpu["vendor"] == _NVIDIA and not gpu["virtual_function"]]
    bound = [gpu["bdf"] for gpu in own if _is_bound(gpu)]
    listed, smi = recorded(lambda: value(nvidia["proc_gpus"])), recorded(lambda: nvidia["smi"])
    driver = None if listed is None or isinstance(listed, Gap) else [gpu["bdf"] for gpu in listed]
    missing = _grouped(unusable)
    missing += [f"{bdf} is bound to the driver, which does not list it" for bdf in bound
                if driver is not None and bdf not in driver and bdf not in unusable]
    missing += [f"{bdf} is listed by the driver but no longer on the bus" for bdf in driver or []
                if bdf not in {gpu["bdf"] for gpu in gpus}]
    if isinstance(listed, Gap) or isinstance(smi, Gap):
        # A missing GPU is certain, whatever else is not recorded; that none is missing is not.
        return {"bus": len(own), "bound": len(bound), "elsewhere": _elsewhere(own),
                "driver": None if driver is None else len(driver), "smi": None,
                "missing": known(missing) if missing else (listed if isinstance(listed, Gap) else smi)}
    unknown = _unknown(nvidia)
    return {
        "bus": len(own), "bound": len(bound), "elsewhere": _elsewhere(own),
        "driver": None if driver is None else len(driver),
        "smi": len(smi["gpus"]) if smi["state"] == "ok" else None,
        "missing": lost(unknown) if unknown and not missing else known(missing),
    }


def _is_bound(gpu: dict[str, Any]) -> bool:
    return gpu["vendor"] == _NVIDIA and gpu["driver"] == _DRIVER and not gpu["virtual_function"]


def _grouped(unusable: dict[str, str]) -> list[str]:
    """One sentence for all GPUs with the same failure; the log is quoted for the first of them."""
    groups: dict[str, list[str]] = {}
    for bdf, words in unusable.items():
        groups.setdefault(_OF_ONE_GPU.sub("", words), []).append(bdf)
    return [f"{len(bdfs)} GPUs ({', '.join(bdfs)}) are {unusable[bdfs[0]]}" if len(bdfs) > 1
            else f"{bdfs[0]} is {unusable[bdfs[0]]}" for bdfs in groups.values()]


def _unknown(nvidia: dict[str, Any]) -> str | None:
    """Which of the counts is not known, None if all are. A missing nvidia-smi does not count as unknown."""
    if nvidia["proc_gpus"]["status"] != "ok":
        return nvidia["proc_gpus"]["status"]
    state, reason = nvidia["smi"]["state"], nvidia["smi"]["reason"]
    if state in ("ok", "absent"):
        return None
    return f"nvidia-smi was not run: {reason}" if state == "not_run" else f"nvidia-smi: {reason or state}"


def _elsewhere(own: list[dict[str, Any]]) -> str | None:
    """The GPUs on the bus that are not bound to the nvidia driver, by reason: `2 passed through (vfio-pci): ...`."""
    groups: dict[str, list[str]] = {}
    for gpu in own:
        if not _is_bound(gpu):
            groups.setdefault(_holder(gpu), []).append(gpu["bdf"])
    return "; ".join(f"{len(bdfs)} {why}: {', '.join(bdfs)}" for why, bdfs in groups.items()) or None


def _holder(gpu: dict[str, Any]) -> str:
    given = gpu["state"] == "passed_through"
    if gpu["driver"] is None:
        return "assigned to a guest, without a driver" if given else "without a driver"
    if given or is_held_for_others(gpu["driver"]):
        return f"bound for a guest ({gpu['driver']})"
    return f"bound to another driver ({gpu['driver']})"
