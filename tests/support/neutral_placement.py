# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hand-written facts `placement` for the machines of neutral_facts.py."""
from __future__ import annotations

from typing import Any

GIB = 1 << 20       # KiB
AVX512 = ("avx", "f16c", "fma", "avx2", "avx_vnni", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16")
AVX2 = AVX512[:4]
AMX = (*AVX512, "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16")


def ok(value: Any) -> dict:
    return {"status": "ok", "value": value}


def absent() -> dict:
    return {"status": "absent", "value": None}


def placement(cores: int, threads: int = 2, l3_cores: int = 8, features: tuple[str, ...] = AVX2,
              guests: tuple[dict, ...] = (), processes: tuple[dict, ...] = ()) -> dict:
    """`cores` with one or two threads, second threads numbered after all first ones; an L3 cache per `l3_cores`."""
    return {"own": {"uuid": absent(), "addresses": []},
            "cores": [_threads(core, core, cores, threads) for core in range(cores)],
            "l3": [_threads(first, first + l3_cores - 1, cores, threads) for first in range(0, cores, l3_cores)],
            "features": ok(list(features)), "guests": ok(list(guests)), "processes": ok(list(processes))}


def _threads(first: int, last: int, cores: int, threads: int) -> str:
    return ",".join(str(first + shift) if first == last else f"{first + shift}-{last + shift}"
                    for shift in (0, cores)[:threads])


def memory(*gib: int) -> dict:
    """Memory of programs by node, in GiB."""
    return ok([{"node": node, "anon_kib": size * GIB, "shmem_kib": 0, "file_kib": 0, "hugetlb_kib": 0}
               for node, size in enumerate(gib)])


def real(cpus: str = "0-31,128-159", nodes: str = "0-1", held: dict | None = None, **changed: Any) -> dict:
    """The place of running processes: on `cpus`, with `held` from memory()."""
    return {"pid": None, "threads": absent(), "cpuset": ok(cpus), "cpus": ok(cpus), "memory_nodes": ok(nodes),
            "cpu_limit": ok(None), "memory_limit_kib": ok(64 * GIB), "memory": held or memory(40, 0), **changed}


def container(number: str = "101", cpus: str | None = "0-31,128-159", nodes: str | None = None,
              running: bool = True, held: tuple[int, ...] = (40, 0), **changed: Any) -> dict:
    """A container with 64 GiB and no `cores`, bound to `cpus`, with `held` GiB by node."""
    return {"subject": f"lxc:{number}", "id": number, "kind": "lxc", "name": f"serve{number}", "running": running,
            "template": False, "pending": [],
            "configured": {"cores": None, "memory_mib": 65536, "cpus": ok(cpus) if cpus else absent(),
                           "memory_nodes": ok(nodes) if nodes else absent(), "cpulimit": None, "cpuunits": None,
                           "addresses": ["bc:24:11:00:00:01"], "vm": None},
            "real": real(cpus or "0-255", held=memory(*held)) if running else None, **changed}


def vm(number: str = "200", cpus: str | None = "0-31,128-159", nodes: str | None = "0", running: bool = True,
       **changed: Any) -> dict:
    """A q35 VM with 64 CPUs and 256 GiB on one node, a GPU behind PCI Express, and the CPU type host."""
    numa = [{"key": "numa0", "cpus": "0-63", "hostnodes": nodes, "memory_mib": 262144, "policy": "bind"}]
    return {"subject": f"vm:{number}", "id": number, "kind": "vm", "name": f"model{number}", "running": running,
            "template": False, "pending": [],
            "configured": {"cores": 64, "memory_mib": 262144, "cpus": ok(cpus) if cpus else absent(),
                           "memory_nodes": ok(nodes) if nodes else absent(), "cpulimit": None, "cpuunits": None,
                           "addresses": ["bc:24:11:00:02:00"],
                           "vm": {"sockets": 1, "vcpus": None, "numa": bool(nodes), "numa_nodes": numa if nodes else [],
                                  "cpu_type": "host", "cpu_model": "host", "cpu_flags": [], "cpu_arguments": False,
                                  "arch": None, "machine": "q35", "hugepages": None, "keephugepages": False,
                                  "hotplug_memory": False,
                                  "balloon_mib": 0, "kvm": True, "uuid": "11111111-2222-3333-4444-555555555555",
                                  "pcie": ["hostpci0"]}},
            "real": real(cpus or "0-255", pid=20200, threads=ok([{"cpus": cpus or "0-255", "count": 90}]),
                         held=memory(256, 0)) if running else None, **changed}


def process(name: str = "vllm.service", cpus: str = "0-31,128-159", nodes: str = "0-1", **changed: Any) -> dict:
    """A service with one process, 4242, that uses a GPU."""
    return {"subject": f"process:{name}", "name": name, "container": None, "pids": [4242], "commands": ["python3"],
            "processes": [{"pid": 4242, "command": "python3", "cpus": ok(cpus), "memory_nodes": ok(nodes)}],
            "real": real(cpus, nodes, pid=4242, threads=ok([{"cpus": cpus, "count": 120}])), **changed}
