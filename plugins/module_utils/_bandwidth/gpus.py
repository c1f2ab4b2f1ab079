# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Select the GPUs that may be measured: idle, awake, used by the host itself, on a host with a healthy driver."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from .._change.hung_gpus import reason_to_leave
from .._host.host import Host
from .._host.reading import ASLEEP, GONE, OK, Reading
from .._kernel.modules import BUILT_IN, LIVE, read_module
from .._kinds.maxreadreq_rules import Surroundings, describe_users
from .._nvidia import smi
from .._nvidia.driver import CORE_MODULE, read_gpus, read_nodes
from .._pci.address import DEVICES, find_address, upstream_path
from .._pci.device import express_of, read_config
from .._pci.gpus import NVIDIA, find_gpus
from .._pci.sysfs import read_driver, read_id
from .._pve import guests
from .result import SPLIT

UVM = "nvidia_uvm"
_CAPABILITIES = "/proc/driver/nvidia/capabilities"


class NotMeasurable(Exception):
    """Nothing can be measured on this host now; the message is one sentence."""


class Chosen(NamedTuple):
    gpus: list[dict[str, Any]]              # {bdf, uuid, memory_mib, link_expected: {speed_gt_s, width} | None}
    not_measured: list[dict[str, str]]      # {subject, reason}
    watch_heat: str | None                  # why nvidia-smi must not be run, None if it may


def choose(host: Host, devices: list[str], allow_busy: bool) -> Chosen:
    """The measurable ones of the named GPUs, or of all NVIDIA GPUs. Raises NotMeasurable."""
    own = [bdf for bdf, _class in find_gpus(host) if read_id(host, bdf, "vendor") == NVIDIA]
    wanted = _named(host, devices, own) if devices else own
    if not wanted:
        raise NotMeasurable("no NVIDIA GPU on this host")
    around = Surroundings(host, allow_busy)
    configs = {bdf: read_config(host, bdf) for bdf in own}
    reasons = {bdf: _not_ours(host, bdf, around) or _not_awake(configs[bdf]) for bdf in wanted}
    _require_any(reasons)
    _require_well(host, around, configs)
    obstacle = _smi_obstacle(host, configs)
    seen = {gpu["bdf"]: gpu for gpu in smi.read(host, obstacle)["gpus"]}
    sliced = {bdf for bdf, gpu in seen.items() if gpu["mig"] == "Enabled"} | _instances(host)
    reasons = {bdf: reason or (SPLIT if bdf in sliced else None) for bdf, reason in reasons.items()}
    _require_any(reasons)
    fit = [bdf for bdf in wanted if reasons[bdf] is None]
    _require_idle(fit, around)
    uuids = {gpu["bdf"]: gpu["uuid"] for gpu in read_gpus(host).value or []}
    return Chosen([{"bdf": bdf, "uuid": uuids.get(bdf), "memory_mib": seen[bdf]["memory_mib"] if bdf in seen else None,
                    "link_expected": _expected_link(host, bdf, configs[bdf])} for bdf in fit],
                  [{"subject": bdf, "reason": reason} for bdf, reason in reasons.items() if reason], obstacle)


def _instances(host: Host) -> set[str]:
    """The GPUs with MIG instances: the driver has a folder for each, readable even if nvidia-smi cannot be run (MIG
    User Guide, Device Nodes and Capabilities). MIG without instances is detected by the driver's library."""
    return {gpu["bdf"] for gpu in read_gpus(host).value or [] if any(
        name.startswith("gi") for name in host.list(f"{_CAPABILITIES}/gpu{gpu['minor']}/mig"))}


def _require_any(reasons: dict[str, str | None]) -> None:
    if all(reasons.values()):
        named = "; ".join(f"{bdf}: {reason}" for bdf, reason in reasons.items())
        raise NotMeasurable(f"no GPU can be measured: {named}")


def _named(host: Host, devices: Iterable[str], own: list[str]) -> list[str]:
    found = []
    for name in devices:
        try:
            found.append(find_address(host, name))
        except (ValueError, LookupError) as error:
            raise NotMeasurable(str(error)) from None
    others = [bdf for bdf in found if bdf not in own]
    if others:
        raise NotMeasurable(f"{', '.join(others)}: not an NVIDIA GPU; this host has {', '.join(own) or 'none'}")
    return list(dict.fromkeys(found))


def _not_ours(host: Host, bdf: str, around: Surroundings) -> str | None:
    physical = host.link_name(f"{DEVICES}/{bdf}/physfn")
    if physical is not None:
        return f"a virtual function of {physical}"
    driver = read_driver(host, bdf)
    if driver != CORE_MODULE:
        return f"bound to {driver}" if driver else "no driver is bound to it"
    claimed = guests.claims(around.guests, bdf)
    if not claimed.ok:
        return f"whether it is assigned to a VM is unknown: {claimed.detail or claimed.status}"
    if claimed.value:
        return "named by " + ", ".join(f"VM {claim['vm']} ({claim['key']})" for claim in claimed.value)
    return None


def _not_awake(config: Reading) -> str | None:
    return config.detail or config.status if config.status in (ASLEEP, GONE) else None


def _require_well(host: Host, around: Surroundings, configs: dict[str, Reading]) -> None:
    """The driver's library opens every GPU: refuse if that may hang or would load a module."""
    hung = reason_to_leave(around.hung)
    if hung is not None:
        raise NotMeasurable(hung)
    gone = [bdf for bdf, config in configs.items() if config.status == GONE]
    if gone:
        raise NotMeasurable(f"{', '.join(gone)} reads all ones: any call of the driver may hang")
    for name in (CORE_MODULE, UVM):
        state = read_module(host, name)["state"]
        if state not in (LIVE, BUILT_IN):
            raise NotMeasurable(f"the module {name} is {state}, and the driver library would load it: load it first, "
                                "with gpuhost.tuning.nvidia_module or nvidia-modprobe -u")
    if around.mismatch is not None:
        raise NotMeasurable(f"driver/library version mismatch: {around.mismatch}: reboot first")


def _require_idle(fit: list[str], around: Surroundings) -> None:
    for bdf in fit if not around.allow_busy else ():
        users = around.users(bdf)
        if not users.ok:
            raise NotMeasurable(f"whether {bdf} is in use is unknown: {users.detail or users.status}")
        if users.value:
            raise NotMeasurable(f"{bdf} is busy: in use by {describe_users(users.value)}; stop it first, or set "
                                "allow_busy")


def _smi_obstacle(host: Host, configs: dict[str, Reading]) -> str | None:
    nodes = {node["path"] for node in read_nodes(host).value or [] if node["type"] == "c"}
    wanted = [f"/dev/nvidia{gpu['minor']}" for gpu in read_gpus(host).value or [] if gpu["minor"] is not None]
    return smi.reason_not_to_run(LIVE, "/dev/nvidiactl" in nodes, [path for path in wanted if path not in nodes], [],
                                 [bdf for bdf, config in configs.items() if config.status == ASLEEP], [])


def _expected_link(host: Host, bdf: str, config: Reading) -> dict[str, Any] | None:
    """The maximum that both ends of the link support, in GT/s and lanes; None if one of them does not say."""
    above = upstream_path(host, bdf)
    ends = [express_of(config), express_of(read_config(host, above[0]))] if above else []
    links = [end.value["link"] for end in ends if end.status == OK]
    if len(links) < 2 or not all(links):
        return None
    speeds, widths = ([link[key] for link in links] for key in ("max_speed_gts", "max_width"))
    return None if None in speeds or None in widths else {"speed_gt_s": min(speeds), "width": min(widths)}
