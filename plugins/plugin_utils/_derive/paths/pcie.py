# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The PCIe path of a GPU up to its root port: what it supports and which port limits it."""
from __future__ import annotations

from typing import Any, Callable, NamedTuple

from ..not_recorded import Gap, recorded, settle, several, whole
from ..reading import lost, value
from .aer import AER_FACTS, aer_facts
from .device_link import FOLLOWS_THE_SLOT, as_the_device_can, knows_its_best, reaches
from .link_width import WIDTH_FACTS, width_facts

# Payload bits per transferred bit, as PCIE_SPEED2MBS_ENC() in drivers/pci/pci.h.
_ENCODING = {2.5: 8 / 10, 5.0: 8 / 10, 8.0: 128 / 130, 16.0: 128 / 130, 32.0: 128 / 130, 64.0: 1.0}
_SPEED_FACTS = ("speed_state", "seen_speed_gts", "speed_floor_gts", "speed_note")
_NARROWEST_FACTS = ("gpu_gbps", "path_gbps", "bottleneck")
SLOWEST_GTS = 2.5
TUNNEL = ("the GPU is behind a tunnel through USB4 or Thunderbolt, whose ports advertise 2.5 GT/s whatever it carries: "
          "what that is cannot be read from them")
BUSY_PERCENT = 10           # utilisation below it is a display or a monitoring tool
FIRST_IDLE_PSTATE = 5       # P0 to P4 are used under load


class Hop(NamedTuple):
    """One PCIe link on the path: the speed and width that both ends support, and the end that supports less.

    `trained`: the width is what the link has now (LnkSta), which is less than both ends support."""

    speed_gts: float
    width: int
    bdf: str
    trained: bool = False

    @property
    def gbps(self) -> float:
        return bandwidth(self.speed_gts, self.width)


def bandwidth(speed_gts: float, width: int) -> float:
    """The bandwidth of a link in gigabytes per second and direction, packet headers included."""
    return round(speed_gts * _ENCODING.get(speed_gts, 1.0) * width / 8, 1)


def path_facts(gpu: dict[str, Any], ports: dict[str, dict], smi: dict[str, Any],
               one_moment: Callable[[], bool] = lambda: True) -> dict[str, Any]:
    """The derived values of one GPU that come from its registers and those of the ports above it.

    `one_moment`: registers and nvidia-smi were read at the same time. In other tools' reports nvidia-smi runs later and
    wakes the GPU, so the load it shows does not apply to the registers.
    """
    above = recorded(lambda: [ports[bdf] for bdf in gpu["path"] if bdf in ports])
    idle, load = _both(lambda: _load(gpu["bdf"], smi))
    idle_then, load_then = _both(lambda: (whole(idle), whole(load)) if one_moment() else (None, None))
    slot = recorded(lambda: _link(above[0]) if above else None)
    own = recorded(lambda: as_the_device_can(_link(gpu), gpu, smi))
    if isinstance(own, Gap):        # the slot decides, even if the device can do more
        own_or_less = recorded(lambda: _link(gpu) if reaches(_link(gpu), slot) else whole(own))
    else:
        own_or_less = own
    ends = recorded(lambda: _both_ends(gpu["bdf"], own_or_less, above[0]["bdf"], slot)
                    if own_or_less and slot else None)
    return {
        **several(("path_max_payload", "payload_port"), lambda: _payload(above)),
        **settle({
            "expected_width": lambda: ends and ends.width,
            "width_port": lambda: above[0]["bdf"] if ends and ends.width < own_or_less["max_width"] else None,
            "expected_speed_gts": lambda: ends and ends.speed_gts,
            "speed_port": lambda: above[0]["bdf"] if ends and ends.speed_gts < own["max_speed_gts"] else None,
            "idle": lambda: whole(idle),
            "aspm_links": lambda: [device["bdf"] for device in [gpu, *above] if saves_power(device)],
            "redirect_ports": lambda: [port["bdf"] for port in above if redirects(port)],
            "window_bytes": lambda: _window(gpu),
        }),
        **several(_SPEED_FACTS, lambda: _speed(
            own_or_less, slot, ends, whole(idle_then), whole(load_then), gpu["link_samples"])),
        **several(WIDTH_FACTS, lambda: width_facts(gpu, above, whole(idle_then), whole(load_then))),
        **several(_NARROWEST_FACTS, lambda: _narrowest(gpu, own, above, smi)),
        **several(AER_FACTS, lambda: aer_facts([gpu, *above])),
    }


def _both(ask: Callable[[], tuple[Any, Any]]) -> tuple[Any, Any]:
    found = recorded(ask)
    return (found, found) if isinstance(found, Gap) else found


def _window(gpu: dict[str, Any]) -> int | None:
    """The wanted size of the memory BAR in bytes: all memory, or the largest supported size if that is not known."""
    memory_mib = value(gpu["memory_mib"])
    if memory_mib is not None:
        return memory_mib << 20
    return max((size for window in value(gpu["resizable_bar"]) or [] for size in window["sizes"]), default=None)


def redirects(port: dict[str, Any]) -> bool | None:
    """Whether ACS redirects peer-to-peer requests or completions of this port to the root; None if unreadable."""
    if port["acs"]["status"] != "ok":
        return None
    control = port["acs"]["value"]
    return bool(control and (control["request_redirect"] or control["completion_redirect"]))


def saves_power(device: dict[str, Any]) -> bool:
    """Whether ASPM may put a device's link into a low-power state; False if its registers were not read."""
    registers = value(device["pcie"])
    link = registers and registers["link"]
    return bool(link) and link["aspm"] != "disabled"


def _link(device: dict[str, Any]) -> dict[str, Any] | None:
    """A device's link if both of its limits could be read."""
    registers = value(device["pcie"])
    link = registers and registers["link"]
    return link if link and link["max_width"] and link["max_speed_gts"] else None


def _both_ends(lower_bdf: str, lower: dict[str, Any], upper_bdf: str, upper: dict[str, Any]) -> Hop:
    speed = min(lower["max_speed_gts"], upper["max_speed_gts"])
    width = min(lower["max_width"], upper["max_width"])
    upper_is_less = bandwidth(upper["max_speed_gts"], upper["max_width"]) <= bandwidth(
        lower["max_speed_gts"], lower["max_width"])
    return Hop(speed, width, upper_bdf if upper_is_less else lower_bdf)


def _payload(above: list[dict]) -> dict[str, Any]:
    sizes = [(registers["max_payload"], port["bdf"]) for port in above if (registers := value(port["pcie"]))]
    if not sizes or len(sizes) < len(above) or None in dict(sizes):     # unreadable, or a code that means no size
        return {"path_max_payload": None, "payload_port": None}
    size, bdf = min(sizes, key=lambda entry: entry[0])
    return {"path_max_payload": size, "payload_port": bdf}


def _load(bdf: str, smi: dict[str, Any]) -> tuple[bool | None, str | None]:
    """Whether the GPU is idle (None if nvidia-smi cannot tell), and the load in words."""
    seen = next((gpu for gpu in smi["gpus"] if gpu["bdf"] == bdf), None)
    if seen is None:
        return None, None
    pstate, percent = seen["pstate"], seen["utilization"]
    number = int(pstate[1:]) if pstate and pstate[1:].isdigit() else None
    text = ", ".join(part for part in (pstate, None if percent is None else f"{percent} % used") if part) or None
    if number is not None and number >= FIRST_IDLE_PSTATE:
        return True, text
    if percent is not None and percent >= BUSY_PERCENT:
        return False, text
    return (True if percent == 0 and number is None else None), text


def _speed(own: dict | None, slot: dict | None, ends: Hop | None, idle: bool | None, load: str | None,
           samples: dict | None) -> dict[str, Any]:
    """The minimum speed that the link must show now, and why: an idle link may be at its lowest speed.

    Of several samples the fastest counts, because a link that has reached a speed supports it; under load the slowest.
    """
    if not ends:
        return _speed_is(None, None, None, None)
    now, best = _seen_speed(own["speed_gts"], idle is False, samples), ends.speed_gts
    looks = _looks(samples)
    if now is None:
        return _speed_is("unknown", None, None, "the link reports an unknown speed code")
    if now >= best:
        limited = best < own["max_speed_gts"]
        return _speed_is("slot" if limited else "full", now, best, f"{now:g} GT/s, the maximum of both ends{looks}")
    if own["autonomous_speed_disabled"] or slot["autonomous_speed_disabled"]:
        return _speed_is("locked", now, best, f"locked: Hardware Autonomous Speed Disable is set (LnkCtl2){looks}")
    target = slot["target_speed_gts"]
    if target and target < best:
        return _speed_is("locked", now, best, f"locked: the port's target speed is {target:g} GT/s (LnkCtl2){looks}")
    if idle is False:
        return _speed_is("degraded", now, best, f"under load: {load}{looks}")
    state = "idle" if idle else "no load detected, perhaps idle"
    return _speed_is("idle" if idle else "unknown", now, SLOWEST_GTS,
                     f"speed not evaluated: {state} ({now:g} of {best:g} GT/s{f', {load}' if load else ''}){looks}")


def _seen_speed(now: float | None, busy: bool, samples: dict | None) -> float | None:
    sampled = samples and samples["min_speed_gts" if busy else "max_speed_gts"]
    speeds = [speed for speed in (now, sampled) if speed is not None]
    return (min if busy else max)(speeds, default=None)


def _looks(samples: dict | None) -> str:
    """What several samples showed, as the end of a sentence."""
    if not samples or samples["min_speed_gts"] is None:
        return ""
    return (f"; {samples['min_speed_gts']:g} to {samples['max_speed_gts']:g} GT/s in {samples['looks']} samples, with "
            f"{samples['changes']} changes")


def _speed_is(state: str | None, seen: float | None, floor: float | None, note: str | None) -> dict[str, Any]:
    return {"speed_state": state, "seen_speed_gts": seen, "speed_floor_gts": floor, "speed_note": note}


def _narrowest(gpu: dict[str, Any], own: dict | None, above: list[dict], smi: dict[str, Any]) -> dict[str, Any]:
    """The link with the least bandwidth on the path; a bottleneck if that is less than the GPU itself supports.

    For the GPU's own link the capability counts: another check covers the trained state. Links further up have no check
    of their own, so the trained width counts.
    """
    hops = links(gpu, above)
    if not own or not hops:
        return {"gpu_gbps": None, "path_gbps": None, "bottleneck": None}
    slowest = min(hops, key=lambda hop: hop.gbps)
    wanted = bandwidth(own["max_speed_gts"], own["max_width"])
    less = slowest.gbps < wanted
    if not less and len(hops) < len(_hops(gpu, above)):
        return {"gpu_gbps": lost("absent", TUNNEL), "path_gbps": None, "bottleneck": None}
    if not less and not knows_its_best(gpu, own, smi):
        return {"gpu_gbps": lost("absent", FOLLOWS_THE_SLOT), "path_gbps": slowest.gbps, "bottleneck": None}
    return {"gpu_gbps": wanted, "path_gbps": slowest.gbps,
            "bottleneck": {"bdf": slowest.bdf, "gbps": slowest.gbps, "gpu_gbps": wanted, "trained": slowest.trained,
                           "link": f"{slowest.speed_gts:g} GT/s x{slowest.width}"} if less else None}


def links(gpu: dict[str, Any], above: list[dict]) -> list[Hop]:
    """The readable links from the GPU up through the ports `above`, without tunnels.

    A link between two ports that support no more than 2.5 GT/s is a tunnel through USB4 or Thunderbolt: such ports
    advertise that, whatever it carries (USB4 specification; linux-pci, 2023-11-03, PCI: Exclude PCIe ports used for
    tunneling in pcie_bandwidth_available()).
    """
    return [hop for own, hop in _hops(gpu, above) if own or hop.speed_gts > SLOWEST_GTS]


def _hops(gpu: dict[str, Any], above: list[dict]) -> list[tuple[bool, Hop]]:
    """Every readable link, and whether it is the GPU's own."""
    return [(lower is gpu, hop) for lower, upper in zip([gpu, *above], above)
            if (hop := _hop(lower, upper, lower is gpu))]


def _hop(lower: dict[str, Any], upper: dict[str, Any], own: bool) -> Hop | None:
    low, up = _link(lower), _link(upper)
    if not low or not up or value(lower["pcie"])["type"] == "downstream_port":
        return None             # inside a switch there is no link between its downstream and its upstream port
    hop = _both_ends(lower["bdf"], low, upper["bdf"], up)
    trained = min(low["width"], up["width"])
    return Hop(hop.speed_gts, trained, upper["bdf"], True) if not own and 0 < trained < hop.width else hop
