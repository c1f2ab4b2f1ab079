# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Upper bounds for copies to and from a GPU, and between two GPUs, from the PCI Express links on their path.

    GT/s x lanes x encoding / 8 x MaxPayload / (MaxPayload + header) = GB/s

Encoding: 8 of 10 bits up to 5 GT/s, 128 of 130 up to 32 GT/s; at 64 GT/s a flit of 256 bytes has 236 for packets (PCI
Express Base Specification 6.0, Physical Layer and Flit Mode). Header: in addition to data a write with a 64-bit address
carries 24 bytes (framing 4 with the sequence number, header 16, LCRC 4), a completion of a read 20 (header 12), as in
R. Neugebauer et al., Understanding PCIe performance for end host networking, SIGCOMM 2018. Acknowledgements, flow
control and read latency are not modelled: they differ between hosts, and this is a bound that no host can exceed.

There is no expectation where the path is not known: no register has the speed of links between processors, the ports
that a virtual machine sees are emulated, and NVLink traffic does not use PCI Express.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from .._derive.gpus.coherent import coherent
from .._derive.paths.p2p import peer_to_peer
from .._derive.paths.pcie import Hop, links
from .._derive.reading import value

# A copy below this share of the expectation is slow: acknowledgements and flow control take up to a tenth, and another
# tenth allows for differences between processors.
SLOW_BELOW_PERCENT = 80
WRITE_HEADER, COMPLETION_HEADER = 24, 20
# Between two GPUs behind root ports of an Intel processor: 20 of 28.8 GB/s on Xeon Gold 6430 and 6530, where AMD
# processors reached 25 with the same cards (github.com/tinygrad/open-gpu-kernel-modules/issues/26).
INTEL, INTEL_PEER_SHARE = "GenuineIntel", 0.7
_FLIT_GTS, _FLIT_SHARE = 64.0, 236 / 256
_ENCODED = {2.5: 8 / 10, 5.0: 8 / 10}
PATHS = {"same_switch": "same switch", "same_root_complex": "same root complex", "same_socket": "same socket",
         "across": "across sockets", "unknown": "unknown"}


class Expected(NamedTuple):
    """GB/s (1e9 bytes a second) in one direction, or None if unknown; `why` gives the reason, otherwise the path."""

    gb_s: float | None
    why: str


class Pair(NamedTuple):
    """The path between two GPUs in words, and the rates it allows. Writes and reads are computed with the header of a
    write, the longer one."""

    path: str
    expected: Expected
    at_risk: bool | None
    redirect: list[str]
    translated: bool | None = None
    through_intel: bool = False     # the path includes root ports of an Intel processor
    nvlink: bool = False


def payload_gb_s(speed_gts: float, width: int, max_payload: int, header: int) -> float:
    """Payload rate in GB/s of a link whose packets carry `max_payload` bytes of data and `header` bytes of overhead."""
    if speed_gts >= _FLIT_GTS:
        encoding, header = _FLIT_SHARE, header - 8      # a flit has no framing and no LCRC per packet
    else:
        encoding = _ENCODED.get(speed_gts, 128 / 130)
    return round(speed_gts * width * encoding / 8 * max_payload / (max_payload + header), 1)


def of_gpu(gpu: dict[str, Any], facts: dict[str, Any]) -> dict[str, Expected]:
    """`{h2d, d2h}`: the GPU reads host memory (limited by completions) or writes to it."""
    ports = ports_of(facts)
    above = [ports[bdf] for bdf in gpu["path"] if bdf in ports]
    nothing = coherent(gpu) or unknowable(facts)
    if nothing:
        return {"h2d": Expected(None, nothing), "d2h": Expected(None, nothing)}
    hops, size = links(gpu, above), smallest_payload([gpu, *above])
    return {"h2d": _over(hops, size, COMPLETION_HEADER), "d2h": _over(hops, size, WRITE_HEADER)}


def of_pairs(gpus: list[dict], facts: dict[str, Any]) -> dict[tuple[str, str], Pair]:
    """Expectations for every ordered pair (from, to): `from` writes to the memory of `to`, or reads from it."""
    ports = ports_of(facts)
    found = peer_to_peer(gpus, facts)
    nothing = "the GPUs are connected by NVLink: PCI Express gives no expected value" if found["nvlink"] else (
        next(filter(None, map(coherent, gpus)), None) or unknowable(facts))
    by_address = {gpu["bdf"]: gpu for gpu in gpus}
    pairs = {}
    for pair in found["pairs"]:
        ends = by_address[pair["a"]], by_address[pair["b"]]
        intel = facts["cpu"]["vendor"] == INTEL and not found["nvlink"] and _reaches_root(pair)
        expected = Expected(None, nothing) if nothing else _between(pair, ends, ports)
        if intel and expected.gb_s is not None:
            expected = Expected(round(expected.gb_s * INTEL_PEER_SHARE, 1), f"{expected.why}, of which root ports of "
                                f"an Intel processor carry about {100 * INTEL_PEER_SHARE:.0f} % between two GPUs")
        # Transfers over NVLink do not pass the IOMMU.
        risk, translated = (False, False) if found["nvlink"] else (pair["at_risk"], pair["translated"])
        made = Pair(PATHS[pair["relation"]], expected, risk, pair["redirect"], translated, intel,
                    found["nvlink"])
        pairs[pair["a"], pair["b"]] = pairs[pair["b"], pair["a"]] = made
    return pairs


def is_slow(gb_s: float, expected: float | None, percent: float = SLOW_BELOW_PERCENT) -> bool:
    """Whether a measured value is below `percent` of the expectation; False if there is none."""
    return expected is not None and gb_s < expected * percent / 100


def _reaches_root(pair: dict) -> bool:
    """Whether transfers pass, or may pass, a root port: not if both GPUs are below one switch."""
    return pair["relation"] != "same_switch" or pair["redirected"] is not False


def _between(pair: dict, ends: tuple[dict, dict], ports: dict[str, dict]) -> Expected:
    if pair["relation"] == "across":
        return Expected(None, "it crosses the socket interconnect, whose speed is not known")
    if pair["relation"] == "unknown":
        return Expected(None, "no NUMA node is known, so it may cross the socket interconnect")
    # A port that redirects, or may, forwards to the root what could stay below it: the shared links count too.
    whole = _reaches_root(pair)
    hops, devices = [], []
    for gpu, other in (ends, ends[::-1]):
        above = ports_passed(gpu, other, ports, whole)
        hops += links(gpu, above)
        devices += [gpu, *above]
    return _over(hops, smallest_payload(devices), WRITE_HEADER)


def ports_passed(gpu: dict, other: dict, ports: dict[str, dict], whole: bool) -> list[dict]:
    """The ports above a GPU that a transfer to another GPU passes: all, or those up to the first shared one."""
    passed = [bdf for bdf in gpu["path"] if whole or bdf not in other["path"]]
    # The link that ends at the shared port is passed too; inside a switch there is no link.
    upper = gpu["path"][:len(passed) + (0 if whole else 1)]
    return [ports[bdf] for bdf in upper if bdf in ports]


def _over(hops: list[Hop], max_payload: int | None, header: int) -> Expected:
    if max_payload is None:
        return Expected(None, "the registers of a device on its path could not be read")
    if not hops:
        return Expected(None, "the link above it is not known")
    slowest = min(hops, key=lambda hop: payload_gb_s(hop.speed_gts, hop.width, max_payload, header))
    return Expected(payload_gb_s(slowest.speed_gts, slowest.width, max_payload, header),
                    f"{slowest.speed_gts:g} GT/s x{slowest.width} at {slowest.bdf}, MaxPayload {max_payload}")


def smallest_payload(devices: Iterable[dict]) -> int | None:
    """The smallest MaxPayload set along the path: every packet passes all these devices."""
    sizes = [registers["max_payload"] if (registers := value(device["pcie"])) else None for device in devices]
    return None if None in sizes else min(sizes)


def unknowable(facts: dict[str, Any]) -> str | None:
    if facts["identity"]["kind"] == "vm":
        return "the ports of a virtual machine are emulated"
    return None


def ports_of(facts: dict[str, Any]) -> dict[str, dict]:
    return {port["bdf"]: port for port in facts["ports"]}
