# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The NVIDIA driver of a host: supported modules and branch, device nodes, library versions, nvidia_peermem."""
from __future__ import annotations

import re
from typing import Any

from ..cpufreq import kernel_version
from ..faults.fabric import manages_nvswitches
from ..faults.log_events import mismatches
from ..guests import startable
from ..not_recorded import Gap, recorded, whole
from ..reading import known, lost, value
from .coherent import joined_by_c2c
from .owners import is_for_host

# RDMA supports dma-buf since kernel 5.12 (include/rdma/ib_umem.h, ib_umem_dmabuf_get).
_FIRST_DMABUF_KERNEL = (5, 12)
# nvmlErrorString() of NVML_ERROR_LIB_RM_VERSION_MISMATCH
_MISMATCH = "Driver/library version mismatch"
_UVM = "/dev/nvidia-uvm"
# Nodes by path; /dev/nvidia-caps is a folder.
_NODE = re.compile(r"/dev/nvidia(\d+|ctl|-modeset|-uvm|-uvm-tools|-caps/.+|-nvswitch.+)")
_BEFORE_GSP = ("maxwell", "pascal", "volta")
_OPEN_ONLY = ("blackwell", "rubin")
# NVIDIA, Unix graphics feature deprecation schedule: the last branch that supports a generation.
_LAST_BRANCH = {"maxwell": 580, "pascal": 580, "volta": 580}


def driver_flavours(gpu: dict[str, Any]) -> list[str]:
    """The kernel modules that NVIDIA supports on a GPU.

    The open ones need a GSP (Turing and later); Grace Hopper, Blackwell and later need the open ones.
    """
    if gpu["generation"] in _BEFORE_GSP:
        return ["proprietary"]
    return ["open"] if gpu["generation"] in _OPEN_ONLY or is_grace_hopper(gpu) else ["open", "proprietary"]


def other_flavour(gpu: dict[str, Any], gpus: list[dict[str, Any]]) -> list[str]:
    """The NVIDIA GPUs of this host that no flavour supports together with this one: only one can be loaded."""
    nvidia = [other for other in gpus if other["vendor"] == gpu["vendor"] == "10de"]
    return [other["bdf"] for other in nvidia if is_for_host(other)
            and set(driver_flavours(gpu)).isdisjoint(driver_flavours(other))]


def is_grace_hopper(gpu: dict[str, Any]) -> bool:
    return gpu["generation"] == "hopper" and joined_by_c2c(gpu)


def last_branch(gpu: dict[str, Any]) -> int | None:
    """The last driver branch that supports the GPU's generation; None if current ones do."""
    return _LAST_BRANCH.get(gpu["generation"]) if gpu["vendor"] == "10de" else None


def driver_branch(nvidia: dict[str, Any]) -> dict[str, Any]:
    """A reading of the loaded driver's branch: 580 for 580.95.05."""
    version = nvidia["driver_version"]
    number = re.match(r"(\d{3,4})\.", value(version) or "")
    return known(int(number[1])) if number else version if version["status"] != "ok" else lost("unparsable")


def missing_nodes(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """Device nodes that containers are given but that the host lacks: `{path, containers, running}`.

    A container does not start without a node that is not optional. CUDA in a container also needs /dev/nvidia-uvm, and
    a container cannot load the module that creates it.
    """
    there = {node["path"] for node in value(facts["nvidia"]["nodes"]) or [] if node["type"] == "c"}
    wanted: dict[str, list[dict]] = {}
    for container in startable.containers(facts["guests"]):
        paths = [device["path"] for device in container["devices"]
                 if _NODE.fullmatch(device["path"]) and not device["optional"]]
        computes = any(path == "/dev" or path.startswith("/dev/nvidia") for path in container["gpu_devices"])
        for path in dict.fromkeys([*paths, *([_UVM] if computes else [])]):
            wanted.setdefault(path, []).append(container)
    return [{"path": path, "containers": [user["id"] for user in users],
             "running": any(user["running"] for user in users)}
            for path, users in wanted.items() if path not in there]


def library_mismatch(nvidia: dict[str, Any]) -> str | None:
    """The versions in words if loaded driver and user space differ: programs that start now fail."""
    loaded = value(nvidia["driver_version"])
    found = recorded(lambda: _other_libraries(nvidia, loaded))
    if loaded is not None and not isinstance(found, Gap) and found:
        return f"the loaded driver is {loaded}, {' and '.join(found)}"
    # The library may be in an unusual place: nvidia-smi found one and reports the mismatch.
    message = nvidia["smi"]["reason"] or ""
    if _MISMATCH in message:
        return f"the loaded driver is {loaded or 'another'}, nvidia-smi reports: {message}"
    if isinstance(found, Gap):
        logged = mismatches(nvidia)
        if logged:
            return f"the log of this boot says: {'; '.join(logged)}"
        if nvidia["smi"]["state"] != "ok":
            whole(found)        # it is not known which versions the libraries have
    return None


def _other_libraries(nvidia: dict[str, Any], loaded: str | None) -> list[str]:
    named = (("libnvidia-ml", value(nvidia["library_version"])), ("libcuda", value(nvidia["cuda_library_version"])))
    return [f"{library} is {version}" for library, version in named if version is not None and version != loaded]


def hung(nvidia: dict[str, Any], bdf: str | None = None) -> str | None:
    """Why one GPU (without `bdf`: any) is not touched: it hung during a measurement in this boot."""
    for mark in value(nvidia["hung"]) or []:
        if bdf in (None, mark["bdf"]):
            return (f"{mark['bdf']} hung at {mark['since']} during a measurement (run {mark['run_id']}, "
                    f"{mark['what']}): it is not touched until the host is rebooted")
    return None


def peermem(facts: dict[str, Any], gpus: list[dict[str, Any]]) -> dict[str, str]:
    """The state of nvidia_peermem: not_needed, loaded, missing or blocked, with the reason.

    kernel-open/nvidia-peermem/nvidia-peermem.c: built on a kernel without ib_register_peer_memory_client, the module
    is a stub whose init returns -EINVAL and logs nothing, so it is not loaded where it cannot work.
    """
    nvidia = facts["nvidia"]
    devices = [device["name"] for device in facts["rdma"]["devices"] if not manages_nvswitches(device, facts, gpus)]
    release = value(facts["kernel"]["release"])
    if not devices:
        return _answer("not_needed", "no RDMA device under /sys/class/infiniband: nvidia_peermem lets a network card "
                       "reach GPU memory, transfers between GPUs do not use it")
    if nvidia["module"]["state"] not in ("live", "built_in"):
        return _answer("not_needed", "the nvidia module is not loaded, so there is no GPU memory to register")
    if nvidia["peermem"]["loaded"]:
        return _answer("loaded", "nvidia_peermem is loaded")
    if nvidia["flavour"] == "open" and (kernel_version(release) or (0, 0)) >= _FIRST_DMABUF_KERNEL:
        return _answer("not_needed", f"kernel {release} and the open modules register GPU memory with DMA-BUF, which "
                                     "NVIDIA recommends over nvidia_peermem")
    if value(nvidia["peermem"]["symbol"]) is False:
        return _answer("blocked", f"{', '.join(devices)} present, but ib_core does not export "
                       "ib_register_peer_memory_client: nvidia_peermem cannot load (EINVAL, nothing in the log)")
    return _answer("missing", f"{', '.join(devices)} present and nvidia_peermem is not loaded")


def _answer(state: str, reason: str) -> dict[str, str]:
    return {"state": state, "reason": reason}
