# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""NVIDIA's driver on this host: modules, version and flavour, its GPUs and device nodes, errors that it logged."""
from __future__ import annotations

from .._change.hung_gpus import list_hung
from .._host.host import Host
from .._host.reading import ABSENT, Reading, known, ok, settle
from .._kernel.device_majors import read_majors
from .._kernel.modules import LIVE, read_installed_kernels, read_modules
from .._pci.address import kernel_address
from . import modprobe_d, smi, smi_recorded
from .driver_messages import parse_mismatches, parse_repeats, parse_resets, parse_sxids
from .fabric import read as read_fabric
from .init_log import attribute, parse_init_failures
from .libraries import CUDA, MANAGEMENT, read_containers, read_library_version
from .log import count_xids, parse_peer_lines, parse_xids
from .proc import parse_information, parse_parameters, parse_version

_PROC = "/proc/driver/nvidia"
_PREFIXES = ("nvidia", "gdrdrv")
CORE_MODULE = "nvidia"
# The driver and its helpers, the driver that replaces it, and what nvidia_peermem needs.
MODULES = (CORE_MODULE, "nvidia_uvm", "nvidia_modeset", "nvidia_drm", "nvidia_peermem", "gdrdrv", "nvidia_fs",
           "nouveau", "ib_core")
PEER_SYMBOL = "ib_register_peer_memory_client"


def read(host: Host, log: Reading, *, earlier: Reading, gone: list[str], asleep: list[str], rdma: bool,
         containers: Reading, release: str | None, present: bool, users: Reading, nvswitches: list[str]) -> dict:
    """The `nvidia` section of the facts.

    `earlier` and `log` are from _kernel.log.read_boots(), `containers` from libraries.find_processes(), `users` from
    device_users.read_users(). `gone` and `asleep` are addresses of NVIDIA GPUs that read all ones or are suspended,
    `nvswitches` are addresses too. `rdma`: the host has an RDMA device; `present`: it has an NVIDIA GPU; `release` is
    that of the running kernel.
    """
    modules = known(lambda: read_modules(host, MODULES))
    core, peermem = modules[0], modules[MODULES.index("nvidia_peermem")]
    version = host.read(f"{_PROC}/version").map(parse_version)
    gpus = read_gpus(host)
    nodes = read_nodes(host)
    hung = list_hung(host)
    reason = known(lambda: reason_not_to_ask(core["state"], nodes, gpus, gone, asleep, hung))
    # If a recording lacks the reason, its output of nvidia-smi is used.
    said = known(lambda: smi_recorded.read_text(host) or smi.read(
        host, None if isinstance(reason, Reading) else reason))
    return {
        "module": {key: core[key] for key in ("state", "version", "refcount")},
        "flavour": known(lambda: version.value.flavour if version.told().ok else None),
        "driver_version": version.map(lambda parsed: parsed.version) if version.ok else core["version"],
        "library_version": read_library_version(host, MANAGEMENT),
        "cuda_library_version": read_library_version(host, CUDA),
        **read_containers(host, containers),
        "modules": modules,
        "kernels": known(lambda: read_installed_kernels(host, CORE_MODULE)),
        **modprobe_d.read(host, release, present),
        "parameters": host.read(f"{_PROC}/params").map(parse_parameters),
        "proc_gpus": gpus,
        "majors": read_majors(host).map(
            lambda majors: [entry for entry in majors if entry["name"].startswith(_PREFIXES)]),
        "nodes": nodes,
        "peermem": settle({"loaded": lambda: peermem["state"] == LIVE, "symbol": lambda: read_peer_symbol(host, rdma),
                           "log": lambda: parse_peer_lines(log.value or [])}),
        "smi": said,
        "fabric": read_fabric(host, users, gpus, said, nvswitches, present),
        **_messages(earlier, log),
        "init_failures": read_init_failures(log, gpus),
        "hung": hung,
    }


def _messages(earlier: Reading, log: Reading) -> dict:
    """The driver's messages in the kernel log of this boot, and its errors in earlier ones."""
    return {
        "xids": log.map(parse_xids),
        "xids_of_earlier_boots": earlier.map(count_xids),
        "sxids": log.map(parse_sxids),
        "mismatches": log.map(parse_mismatches),
        "reset_required": log.map(parse_resets),
        "repeats": log.map(parse_repeats),
    }


def reason_not_to_ask(state: str, nodes: Reading, gpus: Reading, gone: list[str], asleep: list[str],
                      hung: Reading) -> str | None:
    """Why nvidia-smi must not be run; None if it may.

    `state` is that of the nvidia module; `nodes`, `gpus` and `hung` are from read_nodes(), read_gpus() and
    list_hung(); the rest is as in read().
    """
    present = {node["path"] for node in nodes.value or [] if node["type"] == "c"}
    wanted = [f"/dev/nvidia{gpu['minor']}" for gpu in gpus.value or [] if gpu["minor"] is not None]
    return smi.reason_not_to_run(state, "/dev/nvidiactl" in present, [path for path in wanted if path not in present],
                                 gone, asleep, [gpu["bdf"] for gpu in hung.value or []])


def read_gpus(host: Host) -> Reading:
    """The GPUs that the driver has probed, from /proc/driver/nvidia/gpus: `[{bdf, ...}]`, see parse_information().

    Sorted by address. The minor number is that of /dev/nvidia<minor>; it does not follow the bus order.
    """
    names = host.read_list(f"{_PROC}/gpus")
    return known(lambda: _read_gpus(host, names.value)) if names.ok else names


def _read_gpus(host: Host, names: list[str]) -> Reading:
    found = []
    for name in names:
        bdf = kernel_address(name)
        if bdf is not None and "." in bdf:
            text = host.read(f"{_PROC}/gpus/{name}/information")
            found.append({"bdf": bdf, **parse_information(text.value or "")})
    return ok(found)


def read_init_failures(log: Reading, gpus: Reading) -> Reading:
    """The GPUs that the driver could not initialise, according to the kernel log: see attribute() of init_log.py.

    `log` is from read_lines() of _kernel/log.py, `gpus` from read_gpus().
    """
    failures = log.map(parse_init_failures)
    # A recording may lack the driver's list of GPUs; most lines name the address anyway.
    listed = known(lambda: gpus.value or [])
    return failures.map(lambda found: attribute(found, [] if isinstance(listed, Reading) else listed))


def read_nodes(host: Host) -> Reading:
    """/dev/nvidia*, /dev/gdrdrv and /dev/nvidia-caps/*: `[{path, type, major, minor, mode}]` by path.

    A plain file in place of a node has type `file` and no numbers; a bind mount into a container leaves one if the
    host had no node.
    """
    nodes = host.device_nodes("/dev")
    return known(lambda: _read_nodes(host, nodes)) if nodes.ok else nodes


def _read_nodes(host: Host, nodes: Reading) -> Reading:
    caps = host.device_nodes("/dev/nvidia-caps").value or {}
    found = {path: node for path, node in {**nodes.value, **caps}.items()
             if path.startswith(tuple(f"/dev/{prefix}" for prefix in _PREFIXES))}
    for name in host.list("/dev"):
        path = f"/dev/{name}"
        if name.startswith(_PREFIXES) and path not in found and not host.is_dir(path):
            found[path] = {"type": "file", "major": None, "minor": None, "mode": f"{host.mode(path) or 0:04o}"}
    return ok([{"path": path, **found[path]} for path in sorted(found)])


def read_peer_symbol(host: Host, rdma: bool) -> Reading:
    """Whether the kernel has the peer memory interface that nvidia_peermem needs (ib_core of MLNX_OFED or DOCA)."""
    if not rdma:
        return Reading(ABSENT, None, "not checked: no RDMA device")
    return host.contains("/proc/kallsyms", f" {PEER_SYMBOL}".encode())


def proc_gpu(nvidia: dict, bdf: str) -> dict | None:
    """The driver's entry for one GPU, from the section returned by read()."""
    return next((gpu for gpu in nvidia["proc_gpus"].value or [] if gpu["bdf"] == bdf), None)


def smi_gpu(nvidia: dict, bdf: str) -> dict | None:
    """The nvidia-smi entry for one GPU, from the section returned by read()."""
    return next((gpu for gpu in nvidia["smi"]["gpus"] if gpu["bdf"] == bdf), None)
